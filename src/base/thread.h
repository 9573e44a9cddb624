/* What threads tell the system about themselves. */
#ifndef TV_BASE_THREAD_H
#define TV_BASE_THREAD_H

/**
 * Let the calling thread give way to those that answer clients and commit their
 * writes: on a machine whose cores are all busy it gets about a tenth of what they
 * get, and when it has a core for itself nothing changes.  For work that takes
 * long (scans, plans, digests, clean-up), so that a short request does not wait for
 * a core behind it.
 */
void tv_thread_give_way(void);

#endif
