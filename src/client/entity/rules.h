/*
 * What the service is known to refuse, refused before anything is sent.  What is only suspected to
 * be refused goes to the service, which may have learnt more than we know.
 */
#ifndef TVC_ENTITY_RULES_H
#define TVC_ENTITY_RULES_H

#include "client/entity/entity.h"

/** Why something cannot be; err is OK and why NULL when it can. */
typedef struct tvc_refusal {
    tavola_err err;
    const char *why; /* static text that follows a name: "is longer than 255 characters" */
} tvc_refusal;

/** A property's name; those of the keys and Timestamp are refused, too. */
tvc_refusal tvc_check_name(tv_slice name);

/** A PartitionKey or RowKey. */
tvc_refusal tvc_check_key(tv_slice key);

tvc_refusal tvc_check_value(const tavola_value *value);

#endif
