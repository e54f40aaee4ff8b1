/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sending: trains, and the accounting of a sender's skbs in the lower queues.
 *
 * A train is an skb that holds one or more complete packets of one QP, each from BTH to ICRC
 * inclusive. All packets have the same size; only the last may be shorter. A train of several
 * packets is always RC or UC, and has either requests or responses. Received trains have the
 * same form.
 */
#ifndef RXE_TRAIN_H
#define RXE_TRAIN_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct rxe_dev;
struct net_device;
struct rxe_mcast_grp;
struct rxe_path;
struct sk_buff;
struct rxe_txq;

/**
 * struct rxe_tx - a sender, and its skbs in the queues of the stack and the netdev
 * @ref: one for the sender, one for each skb
 * @q: the queues
 * @sent: skbs that it has sent; written by its task
 * @cpu: skb->sender_cpu of its skbs, see tx_choose_cpu(); likewise
 * @parked: its skbs that wait for an address, see rxe_tx_park()
 * @wait: link in a list of waiting senders
 * @held: it waits, and has too many skbs to get a turn
 * @turn: it may send now, though others wait; until rxe_tx_end_turn()
 * @forced: it may send once, though the queues are full
 * @round: rxe_txq.round when it was last forced
 * @owner: argument of rxe_net_ops.sent
 * @last: the same sender in the queues where it sent before, a list; see rxe_tx_move()
 *
 * Outlives its owner: destroying a QP needn't wait for a queue that is stuck.
 */
struct rxe_tx {
	struct kref		ref;
	struct rxe_txq		*q;
	u32			sent;
	u32			cpu;
	atomic_t		parked;
	struct list_head	wait;
	bool			held;
	bool			turn;
	bool			forced;
	u32			round;
	void			*owner;
	struct rxe_tx		*last;
};

struct rxe_txq *rxe_txq_find(const struct net_device *ndev, u8 priority);
void rxe_txq_put(struct rxe_txq *q);
struct rxe_tx *rxe_tx_create(struct rxe_txq *q, void *owner);
void rxe_tx_destroy(struct rxe_tx *tx);
void rxe_tx_move(struct rxe_tx **txp, struct rxe_txq *q);
void rxe_tx_leave(struct rxe_tx *tx);
bool rxe_tx_busy(const struct rxe_tx *tx);
bool rxe_tx_full(struct rxe_tx *tx);
bool rxe_tx_stuck(const struct rxe_tx *tx, u64 ns);
u32 rxe_tx_room(const struct rxe_tx *tx);
u32 rxe_tx_share(const struct rxe_tx *tx);
bool rxe_tx_shared(const struct rxe_tx *tx);

/**
 * rxe_tx_follow - let a sender go on in the queues of its path
 * @txp: its place
 * @q: the path's queues
 *
 * Context: as rxe_tx_move().
 */
static inline void rxe_tx_follow(struct rxe_tx **txp, struct rxe_txq *q)
{
	if (unlikely((*txp)->q != q))
		rxe_tx_move(txp, q);
}

/**
 * rxe_tx_end_turn - a run of the sender's task is over
 * @tx: the sender
 */
static inline void rxe_tx_end_turn(struct rxe_tx *tx)
{
	if (READ_ONCE(tx->turn))
		rxe_tx_leave(tx);
}

/* The sender's skbs in the queues */
static inline u32 rxe_tx_count_skbs(const struct rxe_tx *tx)
{
	return kref_read(&tx->ref) - 1;
}

/**
 * struct rxe_l3_icrc - common start of the ICRCs of a path's packets
 * @state: ICRC state after the network headers of a packet of @len bytes
 * @len: length of that packet, BTH to ICRC; 0: @state isn't computed yet
 * @id: IPv4 ID of that packet
 *
 * Belongs to a train or to a path in one direction. Context: one user at a time.
 */
struct rxe_l3_icrc {
	u32	state;
	u32	len;
	u16	id;
};

/**
 * enum rxe_train_class - traffic class of a train
 * @RXE_CLASS_PATH: that of the path
 * @RXE_CLASS_NOT_ECT: that of the path, but not ECN-capable
 * @RXE_CLASS_CNP: that of CNPs, which have a priority of their own, too
 */
enum rxe_train_class {
	RXE_CLASS_PATH,
	RXE_CLASS_NOT_ECT,
	RXE_CLASS_CNP,
};

/**
 * struct rxe_train - a train being built
 * @skb: the train
 * @tx: the sender that is charged for it, or NULL; set before the train is sent
 * @l3_icrc: ICRC state of the last train of this path and sender, or NULL; set before the train
 *	is sent
 * @grp: a datagram's group if it has members on this device, or NULL; set before the train is
 *	sent. Bottom halves stay off from the lookup on
 * @next: where the next packet goes, if @ready isn't 0
 * @sqpn: QP number of a connected sender, 0 for a datagram; set before the train is sent
 * @ready: packets of @pkt bytes that fit into the memory at @next
 * @hint: packets that the caller expects to add
 * @pkt: bytes of each packet but the last (BTH to ICRC), 0 while empty
 * @npkts: packets so far
 * @bytes: their bytes
 * @max_bytes: limit of bytes per skb on this path
 * @max_pkts: limit of packets per skb
 * @headroom: bytes in front of the first BTH, for the headers below
 * @alone: the path takes only one packet per skb
 * @linear: a single small packet, which is in the linear part
 * @class: enum rxe_train_class, set before the train is sent
 * @mad: the packet is a datagram of the GSI
 * @singly: one packet per skb, since a packet socket captures on the netdev
 */
struct rxe_train {
	struct sk_buff	*skb;
	struct rxe_tx	*tx;
	struct rxe_l3_icrc *l3_icrc;
	struct rxe_mcast_grp *grp;
	void		*next;
	u32		sqpn;
	u32		ready;
	u32		hint;
	u32		pkt;
	u32		npkts;
	u32		bytes;
	u32		max_bytes;
	u32		max_pkts;
	u16		headroom;
	bool		alone;
	bool		linear;
	u8		class;
	bool		mad;
	bool		singly;
};

/*
 * Build and send: rxe_train_start() for the first packet, rxe_train_push() for the
 * others, then rxe_train_xmit() or rxe_train_drop(). Bottom halves stay off until
 * then, and a train has one builder.
 *
 * The first two return contiguous memory for a packet of @len bytes, BTH to ICRC inclusive. If
 * the train is full or memory is short, rxe_train_push() returns NULL: the caller sends the
 * train and starts another. All packets but the last have the length of the first.
 */
void *rxe_train_start(struct rxe_dev *rxe, struct rxe_path *path,
		      struct rxe_train *train, u32 len, u32 npkts);
void *rxe_train_push_other(struct rxe_train *train, u32 len);

/**
 * rxe_train_push - memory for the next packet
 * @train: from rxe_train_start()
 * @len: bytes, BTH to ICRC, a multiple of 4; as long as the first packet, or
 *	shorter if it is the last
 *
 * Inline for one more packet of the same length, in memory that is reserved already.
 *
 * Return: contiguous memory for the packet but for its ICRC, which
 * rxe_train_xmit() fills in; NULL when the train is full or memory is short.
 */
static inline void *rxe_train_push(struct rxe_train *train, u32 len)
{
	void *data = train->next;

	if (!train->ready || len != train->pkt)
		return rxe_train_push_other(train, len);
	train->next += len;
	train->ready--;
	train->npkts++;
	train->bytes += len;
	return data;
}

/* Is there room for a packet of @len bytes? */
static inline bool rxe_train_takes(const struct rxe_train *train, u32 len)
{
	if (!train->npkts)
		return len <= train->max_bytes;
	return train->npkts < train->max_pkts && len <= train->pkt &&
	       train->bytes + len <= train->max_bytes;
}

/* The train was started, and takes no more packets */
static inline bool rxe_train_is_full(const struct rxe_train *train)
{
	return train->npkts && !rxe_train_takes(train, train->pkt);
}

/* Packets of @len bytes that still fit; if none, the number that fits into a new train */
static inline u32 rxe_train_get_room(const struct rxe_train *train, u32 len)
{
	if (!train->npkts || len > train->pkt || rxe_train_is_full(train))
		return train->max_bytes / len;
	return min(train->max_pkts - train->npkts,
		   (train->max_bytes - train->bytes) / train->pkt);
}

int rxe_train_xmit(struct rxe_dev *rxe, struct rxe_path *path,
		   struct rxe_train *train);
void rxe_train_drop(struct rxe_train *train);

#endif /* RXE_TRAIN_H */
