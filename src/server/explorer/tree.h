/*
 * GET /api/tree?account=NAME: all that the page's tree and its account view show of an account, in
 * one answer, which a page asks for every two seconds:
 *
 *     {"tables": [{"name": "People", "requests": 12, "entities": 3, "bytes": 120, "exact": true}],
 *      "queues": [{"name": "work", "requests": 4, "messages": 2, "exact": true}],
 *      "containers": [{"name": "photos", "requests": 0, "blobs": 9, "bytes": 31, "exact": true}],
 *      "more": false, "problem": "", "first": {...}}
 *
 * Counts are left out while they are not known.  `requests` are those of clients since the start,
 * so that two answers give a rate.  `first` is the first request of a client (first.h), if
 * there was one; `problem` says why the engine is not well.
 */
#ifndef TV_SERVER_EXPLORER_TREE_H
#define TV_SERVER_EXPLORER_TREE_H

#include "server/explorer/explorer.h"

void tv_explorer_tree(tv_explorer *explorer, tv_request *req);

#endif
