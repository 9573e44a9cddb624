/*
 * Making shared access signatures of their fields.
 */
#ifndef TVC_ACCOUNT_SAS_H
#define TVC_ACCOUNT_SAS_H

#include "client/client.h"
#include "model/auth/sas.h"

typedef enum tvc_sas_kind {
    TVC_SAS_TABLE,
    TVC_SAS_ACCOUNT,
    TVC_SAS_QUEUE,
    TVC_SAS_CONTAINER,
    TVC_SAS_BLOB,
    TVC_SAS_KINDS,
} tvc_sas_kind;

/** "table", "account"... */
const char *tvc_sas_kind_name(tvc_sas_kind kind);

/**
 * Sign fields, and write them and the signature as a query.  `container` is also a queue's name;
 * of a table it is in the fields.  The credentials have a key.  NULL when there is no memory.
 */
char *tvc_sas_sign(const tvc_credentials *credentials, tvc_sas_kind kind, const tv_sas *fields,
                   tv_slice container, tv_slice blob);

/**
 * A signature as tavola_sas_options ask for it, of a queue, a container or a blob, whose names are
 * those of handles.  INVALID, with tavola_error_text, and NO_MEMORY.
 */
tavola_err tvc_sas_make(tvc_sas_kind kind, const tavola_client *client, const char *container,
                        const char *blob, const tavola_sas_options *options, char **ret_query);

#endif
