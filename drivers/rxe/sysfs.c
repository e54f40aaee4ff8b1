// SPDX-License-Identifier: GPL-2.0
/*
 * Attributes of a device in /sys/class/infiniband/NAME/: its netdev, and switches.
 * Each optimisation can be turned off, to measure it or to rule it out as the cause of
 * a problem. The guard of the UDP port can be turned off, too.
 *
 * Context: process; the fast path reads the switches locklessly.
 */
#include <linux/device.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>
#include <cc/cc.h>
#include <rxe/dev.h>

static struct rxe_dev *from_dev(struct device *dev)
{
	return rdma_device_to_drv_device(dev, struct rxe_dev, ibdev);
}

static ssize_t parent_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", from_dev(device)->ndev->name);
}
static DEVICE_ATTR_RO(parent);

#define RXE_SWITCH(name)						\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%d\n",					\
			  READ_ONCE(from_dev(dev)->tune.name));		\
}									\
									\
static ssize_t name##_store(struct device *dev,				\
			    struct device_attribute *attr,		\
			    const char *buf, size_t count)		\
{									\
	bool on;							\
	int err = kstrtobool(buf, &on);					\
									\
	if (err)							\
		return err;						\
	WRITE_ONCE(from_dev(dev)->tune.name, on);			\
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
			  rxe_cc_rows[READ_ONCE(from_dev(dev)->tune.cc)]->name);
}

static ssize_t congestion_control_store(struct device *dev, struct device_attribute *attr,
					const char *buf, size_t count)
{
	struct rxe_tune *tune = &from_dev(dev)->tune;
	int index = rxe_cc_find(buf);

	if (index < 0)
		return index;
	WRITE_ONCE(tune->cc, index);
	WRITE_ONCE(tune->ecn, rxe_cc_rows[index]->ecn);
	return count;
}
static DEVICE_ATTR_RW(congestion_control);

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
	NULL,
};

/* ib_device_ops.device_group */
const struct attribute_group rxe_attr_group = {
	.attrs = rxe_attrs,
};
