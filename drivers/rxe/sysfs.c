// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes of a device in /sys/class/infiniband/NAME/: its netdev, its switches, and the
 * traffic class and TTL of its packets. Each optimisation can be turned off, to measure it
 * or to rule it out as the cause of a problem. The guard of the UDP port can be turned off,
 * too. Documentation/ABI/ describes each attribute.
 *
 * Context: process; the fast path reads the switches without a lock.
 */
#include <linux/device.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <cc/cc.h>
#include <rxe/net.h>
#include <rxe/qp.h>
#include "device.h"

static const struct rxe_sysfs_ops *rxe_sysfs_ops;

/**
 * rxe_sysfs_set_ops - set the callbacks, at module load, before there is a device
 * @ops: what to call
 */
void rxe_sysfs_set_ops(const struct rxe_sysfs_ops *ops)
{
	rxe_sysfs_ops = ops;
}

static struct rxe_dev *dev_to_rxe(struct device *dev)
{
	return rdma_device_to_drv_device(dev, struct rxe_dev, ibdev);
}

static ssize_t parent_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_to_rxe(device)->ndev->name);
}
static DEVICE_ATTR_RO(parent);

/* @usage is for the log */
static int refuse_value(struct rxe_dev *rxe, const char *usage)
{
	ibdev_warn_ratelimited(&rxe->ibdev, "%s\n", usage);
	return -EINVAL;
}

#define RXE_SWITCH(name)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%d\n",					\
			  READ_ONCE(dev_to_rxe(dev)->tune.name));		\
}									\
									\
static ssize_t name##_store(struct device *dev,				\
			    struct device_attribute *attr,		\
			    const char *buf, size_t count)		\
{									\
	bool on;							\
									\
	if (kstrtobool(buf, &on))					\
		return refuse_value(dev_to_rxe(dev), #name ": write 0 or 1");	\
	WRITE_ONCE(dev_to_rxe(dev)->tune.name, on);			\
	return count;							\
}									\
static DEVICE_ATTR_RW(name)

RXE_SWITCH(trains);
RXE_SWITCH(zero_copy);
RXE_SWITCH(same_device);
RXE_SWITCH(trust_local);
RXE_SWITCH(cork);
RXE_SWITCH(guard_port);
RXE_SWITCH(roce_np);

static ssize_t congestion_control_show(struct device *dev, struct device_attribute *attr,
				       char *buf)
{
	return sysfs_emit(buf, "%s\n",
			  rxe_cc_rows[READ_ONCE(dev_to_rxe(dev)->tune.cc)]->name);
}

static ssize_t congestion_control_store(struct device *dev, struct device_attribute *attr,
					const char *buf, size_t count)
{
	struct rxe_dev *rxe = dev_to_rxe(dev);
	int index = rxe_cc_find(buf);

	if (index < 0)
		return refuse_value(rxe, "congestion_control: write window, dcqcn or swift");
	WRITE_ONCE(rxe->tune.cc, index);
	return count;
}
static DEVICE_ATTR_RW(congestion_control);

/* Set ecn_priorities or ttl, also for existing connections */
static int set_mark(struct rxe_dev *rxe, u8 *mark, const char *buf, const char *usage)
{
	u8 value;

	if (kstrtou8(buf, 0, &value))
		return refuse_value(rxe, usage);
	WRITE_ONCE(*mark, value);
	rxe_qp_class_changed(rxe);
	return 0;
}

static ssize_t ecn_priorities_show(struct device *dev, struct device_attribute *attr,
				   char *buf)
{
	return sysfs_emit(buf, "0x%02x\n", READ_ONCE(dev_to_rxe(dev)->tune.ecn_priorities));
}

static ssize_t ecn_priorities_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct rxe_dev *rxe = dev_to_rxe(dev);

	return set_mark(rxe, &rxe->tune.ecn_priorities, buf,
			"ecn_priorities: write a mask from 0 to 0xff") ?: count;
}
static DEVICE_ATTR_RW(ecn_priorities);
RXE_SWITCH(capture_singly);

/* Indices are enum rxe_roce_enable */
static const char *const rxe_roce_names[] = { "0", "v1", "v2", "1" };

static ssize_t roce_enable_show(struct device *dev, struct device_attribute *attr,
				char *buf)
{
	return sysfs_emit(buf, "%s\n", rxe_roce_names[dev_to_rxe(dev)->roce]);
}

/*
 * The change removes the device, and this file with it. Removing a file waits for the file's
 * functions, so the active protection is broken. This is done before add_lock is taken. A
 * writer that waits for add_lock must not block the removal by another writer. From then on,
 * only the caller's reference keeps the module.
 */
static int set_roce(struct device *dev, struct device_attribute *attr, u8 roce)
{
	struct rxe_dev *rxe = dev_to_rxe(dev);
	struct kernfs_node *kn;
	int err = -ENODEV;

	get_device(&rxe->ibdev.dev);
	kn = sysfs_break_active_protection(&dev->kobj, &attr->attr);
	if (kn) {
		err = rxe_sysfs_ops->set_roce(rxe, roce);
		sysfs_unbreak_active_protection(kn);
	}
	put_device(&rxe->ibdev.dev);
	return err;
}

static ssize_t roce_enable_store(struct device *dev, struct device_attribute *attr,
				 const char *buf, size_t count)
{
	int roce = sysfs_match_string(rxe_roce_names, buf);
	int err;

	if (roce < 0)
		return refuse_value(dev_to_rxe(dev), "roce_enable: write 0, 1, v1 or v2");
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	err = set_roce(dev, attr, roce);
	module_put(THIS_MODULE);
	return err ?: count;
}
static DEVICE_ATTR_RW(roce_enable);

static struct attribute *rxe_attrs[] = {
	&dev_attr_parent.attr,
	&dev_attr_trains.attr,
	&dev_attr_zero_copy.attr,
	&dev_attr_same_device.attr,
	&dev_attr_trust_local.attr,
	&dev_attr_cork.attr,
	&dev_attr_guard_port.attr,
	&dev_attr_roce_np.attr,
	&dev_attr_congestion_control.attr,
	&dev_attr_ecn_priorities.attr,
	&dev_attr_capture_singly.attr,
	&dev_attr_roce_enable.attr,
	NULL,
};

/* ib_device_ops.device_group */
const struct attribute_group rxe_attr_group = {
	.attrs = rxe_attrs,
};

/* The device of a file in NAME/FOLDER/1/: mlx5 has its files of port 1 there */
static struct rxe_dev *dir_to_rxe(struct kobject *kobj)
{
	return dev_to_rxe(kobj_to_dev(kobj->parent->parent));
}

static ssize_t traffic_class_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	return rxe_tclass_show(dir_to_rxe(kobj), buf);
}

static ssize_t traffic_class_store(struct kobject *kobj,
				   struct kobj_attribute *attr,
				   const char *buf, size_t count)
{
	struct rxe_dev *rxe = dir_to_rxe(kobj);
	char *text = kstrndup(buf, count, GFP_KERNEL);
	int err;

	if (!text)
		return -ENOMEM;
	err = rxe_tclass_set(rxe, strim(text));
	kfree(text);
	if (err)
		return err;
	rxe_qp_class_changed(rxe);
	return count;
}

static struct kobj_attribute traffic_class_attr = __ATTR_RW(traffic_class);

static ssize_t ttl_show(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(dir_to_rxe(kobj)->ttl));
}

static ssize_t ttl_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count)
{
	struct rxe_dev *rxe = dir_to_rxe(kobj);

	return set_mark(rxe, &rxe->ttl, buf, "ttl: write a number from 0 to 255") ?: count;
}

static struct kobj_attribute ttl_attr = __ATTR_RW(ttl);

/* Make NAME/FOLDER/1/FILE. @dirs: out: the two folders */
static int add_file(struct kobject **dirs, struct kobject *parent,
		    const char *folder, const struct kobj_attribute *attr)
{
	dirs[0] = kobject_create_and_add(folder, parent);
	if (dirs[0])
		dirs[1] = kobject_create_and_add("1", dirs[0]);
	return dirs[1] ? sysfs_create_file(dirs[1], &attr->attr) : -ENOMEM;
}

/**
 * rxe_sysfs_add - make the folders tc/ and ttl/
 * @rxe: device that is registered, and stays so meanwhile
 *
 * Context: process.
 *
 * Return: 0 or a negative error. The caller undoes it by rxe_sysfs_del(), also on errors.
 */
int rxe_sysfs_add(struct rxe_dev *rxe)
{
	struct kobject *parent = &rxe->ibdev.dev.kobj;
	int err;

	err = add_file(&rxe->dirs[0], parent, "tc", &traffic_class_attr);
	return err ?: add_file(&rxe->dirs[2], parent, "ttl", &ttl_attr);
}

/**
 * rxe_sysfs_del - undo rxe_sysfs_add()
 * @rxe: device that isn't registered any more, so that no function of a file runs
 *
 * Context: process.
 */
void rxe_sysfs_del(struct rxe_dev *rxe)
{
	int i;

	for (i = RXE_SYSFS_DIRS - 1; i >= 0; i--)
		kobject_put(rxe->dirs[i]);
}
