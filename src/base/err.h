/*
 * One enum for everything that can go wrong in the server, kept as one table:
 * name, HTTP status, code on the wire, default text.  The texts are the Azure
 * services' own, misspellings included, because clients match on them.
 * Several errors share a wire code and differ in their text.
 */
#ifndef TV_BASE_ERR_H
#define TV_BASE_ERR_H

#include "base/slice.h"

#define TV_WARN_UNUSED __attribute__((warn_unused_result))

/* clang-format off */
#define TV_ERR_MAP(X) \
    /* Inside the server: rows, engines, pipeline.  Those that reach a client do so as shown. */ \
    X(NOT_FOUND, 404, "ResourceNotFound", "The specified resource does not exist.") \
    X(CONFLICT, 500, "InternalError", "Server encountered an internal error. Please try again after some time.") \
    X(WOULD_BLOCK, 500, "InternalError", "Server encountered an internal error. Please try again after some time.") \
    X(IO, 500, "InternalError", "Server encountered an internal error. Please try again after some time.") \
    X(CORRUPT, 500, "InternalError", "Server encountered an internal error. Please try again after some time.") \
    X(IN_USE, 500, "InternalError", "Server encountered an internal error. Please try again after some time.") \
    X(DISK_FULL, 503, "ServerBusy", "The server is busy: its disk is nearly full, so it refuses writes until there is space.") \
    X(UNPLANNED, 503, "ServerBusy", "The server is busy.") \
    X(OVERLOADED, 503, "ServerBusy", "The server is busy.") \
    X(STOPPED, 503, "ServerBusy", "The server is busy.") \
    /* HTTP. */ \
    X(BAD_REQUEST, 400, "InvalidInput", "The request is not valid HTTP.") \
    X(HEADERS_TOO_LARGE, 431, "RequestHeaderFieldsTooLarge", "The request line and headers exceed the maximum permissible limit.") \
    X(BODY_TOO_LARGE, 413, "RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.") \
    X(REQUEST_TIMEOUT, 408, "OperationTimedOut", "The request was not received within the specified time.") \
    X(EXPECTATION, 417, "InvalidHeaderValue", "The only expectation that can be met is 100-continue.") \
    X(HTTP_VERSION, 505, "HttpVersionNotSupported", "Only HTTP/1.0 and HTTP/1.1 are supported.") \
    X(HOST_MISSING, 400, "HostInformationNotPresent", "The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.") \
    X(LENGTH_REQUIRED, 411, "MissingContentLengthHeader", "The Content-Length header was not specified.") \
    X(INVALID_URI, 400, "InvalidUri", "The requested URI does not represent any resource on the server.") \
    X(URL_UNPARSABLE, 400, "RequestUrlFailedToParse", "The url in the request could not be parsed.") \
    X(TOO_MANY_PARAMETERS, 400, "RequestUrlFailedToParse", "The url in the request has more than 256 query parameters.") \
    X(INVALID_VERB, 400, "InvalidHttpVerb", "The HTTP verb specified was not recognized by the server.") \
    X(METHOD_NOT_ALLOWED, 405, "MethodNotAllowed", "The requested method is not allowed on the specified resource.") \
    X(UNSUPPORTED_VERB, 405, "UnsupportedHttpVerb", "The resource doesn't support the specified HTTP verb.") \
    X(NOT_IMPLEMENTED, 501, "NotImplemented", "The requested operation is not implemented on the specified resource.") \
    X(MISSING_HEADER, 400, "MissingRequiredHeader", "A required HTTP header was not specified.") \
    X(INVALID_HEADER, 400, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.") \
    X(INVALID_QUERY_PARAMETER, 400, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.") \
    X(XMETHOD_COUNT, 400, "XMethodIncorrectCount", "Exactly one X-HTTP-Method should be specified.") \
    X(XMETHOD_VALUE, 400, "XMethodIncorrectValue", "The specified X-HTTP-Method is invalid.") \
    X(XMETHOD_NOT_POST, 400, "XMethodNotUsingPost", "The request uses X-HTTP-Method with an HTTP verb other than POST.") \
    X(MEDIA_TYPE, 415, "MediaTypeNotSupported", "None of the provided media types are supported") \
    X(ATOM_FORMAT, 415, "AtomFormatNotSupported", "Atom format is not supported.") \
    X(JSON_VERBOSE_FORMAT, 415, "JsonVerboseFormatNotSupported", "JSON Verbose format is not supported.") \
    /* Who is asking. */ \
    X(AUTHENTICATION_FAILED, 403, "AuthenticationFailed", "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.") \
    X(NO_AUTHENTICATION, 401, "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.") \
    X(AUTHENTICATION_INFO, 400, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format. Check the value of Authorization header.") \
    X(BEARER_REFUSED, 401, "InvalidAuthenticationInfo", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.") \
    X(AUTHORIZATION_FAILURE, 403, "AuthorizationFailure", "This request is not authorized to perform this operation.") \
    X(PERMISSION_MISMATCH, 403, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.") \
    X(PROTOCOL_MISMATCH, 403, "AuthorizationProtocolMismatch", "This request is not authorized to perform this operation using this protocol.") \
    X(RESOURCE_TYPE_MISMATCH, 403, "AuthorizationResourceTypeMismatch", "This request is not authorized to perform this operation using this resource type.") \
    X(SERVICE_MISMATCH, 403, "AuthorizationServiceMismatch", "This request is not authorized to perform this operation using this service.") \
    X(SOURCE_IP_MISMATCH, 403, "AuthorizationSourceIPMismatch", "This request is not authorized to perform this operation using this source IP.") \
    X(SECONDARY_IS_READ_ONLY, 403, "InsufficientAccountPermissions", "Write operations are not allowed.") \
    X(NOT_ON_PRIMARY, 400, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.") \
    X(HTTPS_REQUIRED, 400, "AccountRequiresHttps", "The account being accessed does not support http.") \
    X(CROSS_SITE, 403, "AuthorizationFailure", "This request is not authorized to perform this operation: a browser sent it for a page of another site, which no CORS rule of the account allows.") \
    X(CORS_HEADER, 400, "InvalidHeaderValue", "A required CORS header is not present.") \
    X(CORS_PREFLIGHT, 403, "CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.") \
    X(XML_DOCUMENT, 400, "InvalidXmlDocument", "XML specified is not syntactically valid.") \
    X(XML_NODE_VALUE, 400, "InvalidXmlNodeValue", "The value provided for one of the XML nodes in the request body was not in the correct format.") \
    /* Metadata of queues, containers and blobs. */ \
    X(EMPTY_METADATA_KEY, 400, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.") \
    X(INVALID_METADATA, 400, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted.") \
    X(MERGE_TOO_LARGE, 413, "RequestBodyTooLarge", "The entities that the merges of this transaction write are larger than 8 MiB together.") \
    X(METADATA_TOO_LARGE, 400, "MetadataTooLarge", "The metadata specified exceeds the maximum permissible limit (8KB).") \
    /* Tables. */ \
    X(TABLE_EXISTS, 409, "TableAlreadyExists", "The table specified already exists.") \
    X(TABLE_NOT_FOUND, 404, "TableNotFound", "The table specified does not exist.") \
    X(TABLE_NAME_INVALID, 400, "InvalidResourceName", "The specifed resource name contains invalid characters.") \
    X(TABLE_NAME_LENGTH, 400, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.") \
    X(TABLE_NAME_RESERVED, 400, "InvalidInput", "One of the request inputs is not valid.") \
    /* Entities. */ \
    X(ENTITY_EXISTS, 409, "EntityAlreadyExists", "The specified entity already exists.") \
    X(ENTITY_NOT_FOUND, 404, "ResourceNotFound", "The specified resource does not exist.") \
    X(ETAG_MISMATCH, 412, "UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.") \
    X(INVALID_INPUT, 400, "InvalidInput", "An error occurred while processing this request.") \
    X(ETAG_INVALID, 400, "InvalidInput", "The etag value specified in one of the request headers is not valid. Please make sure only one etag value is specified and is valid.") \
    X(QUERY_SYNTAX, 400, "InvalidInput", "Bad Request - Error in query syntax.") \
    X(KEY_COUNT, 400, "InvalidInput", "The number of keys specified in the URI does not match number of key properties for the resource.") \
    X(PROPERTIES_NEED_VALUE, 400, "PropertiesNeedValue", "The values are not specified for all properties in the entity.") \
    X(OUT_OF_RANGE, 400, "OutOfRangeInput", "One of the request inputs is out of range.") \
    X(TOO_MANY_PROPERTIES, 400, "TooManyProperties", "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.") \
    X(PROPERTY_NAME_TOO_LONG, 400, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255).") \
    X(PROPERTY_NAME_INVALID, 400, "PropertyNameInvalid", "The property name is invalid.") \
    X(PROPERTY_VALUE_TOO_LARGE, 400, "PropertyValueTooLarge", "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.") \
    X(DUPLICATE_PROPERTIES, 400, "DuplicatePropertiesSpecified", "A property is specified more than one time.") \
    X(ENTITY_TOO_LARGE, 400, "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).") \
    X(FILTER_SYNTAX, 400, "InvalidInput", "Bad Request - Error in query syntax.") \
    /* Containers and blobs. */ \
    X(CONTAINER_NOT_FOUND, 404, "ContainerNotFound", "The specified container does not exist.") \
    X(CONTAINER_EXISTS, 409, "ContainerAlreadyExists", "The specified container already exists.") \
    X(BLOB_NOT_FOUND, 404, "BlobNotFound", "The specified blob does not exist.") \
    X(BLOB_EXISTS, 409, "BlobAlreadyExists", "The specified blob already exists.") \
    X(BLOB_TYPE, 409, "InvalidBlobType", "The blob type is invalid for this operation.") \
    X(PAGE_BLOB, 400, "BlobTypeNotSupported", "Page blob is not supported for this account type.") \
    X(BLOB_RANGE, 416, "InvalidRange", "The range specified is invalid for the current size of the resource.") \
    X(BLOB_OR_BLOCK, 400, "InvalidBlobOrBlock", "The specified blob or block content is invalid.") \
    X(BLOCK_ID, 400, "InvalidBlockId", "The specified block ID is invalid. The block ID must be Base64-encoded.") \
    X(BLOCK_LIST, 400, "InvalidBlockList", "The specified block list is invalid.") \
    X(BLOCK_LIST_TOO_LONG, 400, "BlockListTooLong", "The block list may not contain more than 50,000 blocks.") \
    X(COMMITTED_BLOCKS, 409, "BlockCountExceedsLimit", "The committed block count cannot exceed the maximum limit of 50,000 blocks.") \
    X(UNCOMMITTED_BLOCKS, 409, "BlockCountExceedsLimit", "The uncommitted block count cannot exceed the maximum limit of 100,000 blocks.") \
    X(MD5_INVALID, 400, "InvalidMd5", "The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.") \
    X(MD5_MISMATCH, 400, "Md5Mismatch", "The MD5 value specified in the request did not match with the MD5 value calculated by the server.") \
    X(BOTH_CHECKSUMS, 400, "BothCrc64AndMd5HeaderPresent", "Both x-ms-content-crc64 header and Content-MD5 header are present.") \
    X(CRC64_MISMATCH, 400, "Crc64Mismatch", "The CRC64 value specified in the request did not match with the CRC64 value calculated by the server.") \
    X(SNAPSHOT_COUNT, 409, "SnapshotCountExceeded", "The blob has too many snapshots, or its snapshots too many blocks.") \
    X(SNAPSHOTS_PRESENT, 409, "SnapshotsPresent", "This operation is not permitted because the blob has snapshots.") \
    X(NO_PENDING_COPY, 409, "NoPendingCopyOperation", "There is currently no pending copy operation.") \
    X(COPY_SOURCE, 404, "CannotVerifyCopySource", "The specified blob does not exist.") \
    X(COPY_SOURCE_ANONYMOUS, 401, "CannotVerifyCopySource", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.") \
    X(COPY_SOURCE_DENIED, 403, "CannotVerifyCopySource", "This request is not authorized to perform this operation on the source of the copy.") \
    /* Conditional headers of the Blob service. */ \
    X(NOT_MODIFIED, 304, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.") \
    X(UNSATISFIABLE_CONDITION, 400, "UnsatisfiableCondition", "The request includes an unsatisfiable condition for this operation.") \
    X(CONDITION_NOT_MET, 412, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.") \
    X(SOURCE_CONDITION, 412, "SourceConditionNotMet", "The source condition specified using HTTP conditional header(s) is not met.") \
    X(APPEND_POSITION, 412, "AppendPositionConditionNotMet", "The append position condition specified was not met.") \
    X(BLOB_MAX_SIZE, 412, "MaxBlobSizeConditionNotMet", "The max blob size condition specified was not met.") \
    /* Leases. */ \
    X(LEASE_ID_MISSING, 412, "LeaseIdMissing", "There is currently a lease on the blob and no lease ID was specified in the request.") \
    X(LEASE_ID_MISMATCH, 412, "LeaseIdMismatchWithBlobOperation", "The lease ID specified did not match the lease ID for the blob.") \
    X(LEASE_NOT_PRESENT, 412, "LeaseNotPresentWithBlobOperation", "There is currently no lease on the blob.") \
    X(LEASE_LOST, 412, "LeaseLost", "A lease ID was specified, but the lease for the blob has expired.") \
    X(LEASE_OP_ID_MISMATCH, 409, "LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the blob.") \
    X(LEASE_OP_NOT_PRESENT, 409, "LeaseNotPresentWithLeaseOperation", "There is currently no lease on the blob.") \
    X(CONTAINER_LEASE_ID_MISSING, 412, "LeaseIdMissing", "There is currently a lease on the container and no lease ID was specified in the request.") \
    X(CONTAINER_LEASE_ID_MISMATCH, 412, "LeaseIdMismatchWithContainerOperation", "The lease ID specified did not match the lease ID for the container.") \
    X(CONTAINER_LEASE_NOT_PRESENT, 412, "LeaseNotPresentWithContainerOperation", "There is currently no lease on the container.") \
    X(CONTAINER_LEASE_LOST, 412, "LeaseLost", "A lease ID was specified, but the lease for the container has expired.") \
    X(CONTAINER_LEASE_OP_ID_MISMATCH, 409, "LeaseIdMismatchWithLeaseOperation", "The lease ID specified did not match the lease ID for the container.") \
    X(CONTAINER_LEASE_OP_NOT_PRESENT, 409, "LeaseNotPresentWithLeaseOperation", "There is currently no lease on the container.") \
    X(LEASE_PRESENT, 409, "LeaseAlreadyPresent", "There is already a lease present.") \
    X(LEASE_BREAKING_ACQUIRE, 409, "LeaseIsBreakingAndCannotBeAcquired", "The lease ID matched, but the lease is currently in breaking state and cannot be acquired until it is broken.") \
    X(LEASE_BREAKING_CHANGE, 409, "LeaseIsBreakingAndCannotBeChanged", "The lease ID matched, but the lease is currently in breaking state and cannot be changed.") \
    X(LEASE_BROKEN_RENEW, 409, "LeaseIsBrokenAndCannotBeRenewed", "The lease ID matched, but the lease has been broken explicitly and cannot be renewed.") \
    /* Entity group transactions. */ \
    X(BATCH_TOO_MANY, 400, "InvalidInput", "The batch request operation exceeds the maximum 100 changes per change set.") \
    X(BATCH_DUPLICATE_ROW, 400, "InvalidDuplicateRow", "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.") \
    X(BATCH_PARTITIONS, 400, "CommandsInBatchActOnDifferentPartitions", "All commands in a batch must operate on same entity group.") \
    /* Queues and their messages. */ \
    X(QUEUE_EXISTS, 409, "QueueAlreadyExists", "The specified queue already exists.") \
    X(QUEUE_NOT_FOUND, 404, "QueueNotFound", "The specified queue does not exist.") \
    X(MISSING_QUERY_PARAMETER, 400, "MissingRequiredQueryParameter", "A query parameter that's mandatory for this request is not specified.") \
    X(QUERY_OUT_OF_RANGE, 400, "OutOfRangeQueryParameterValue", "One of the query parameters specified in the request URI is outside the permissible range.") \
    X(MESSAGE_TOO_LARGE, 400, "MessageTooLarge", "The message exceeds the maximum allowed size.") \
    X(MESSAGE_NOT_FOUND, 404, "MessageNotFound", "The specified message does not exist.") \
    X(POP_RECEIPT_MISMATCH, 400, "PopReceiptMismatch", "The specified pop receipt did not match the pop receipt for a dequeued message.")
/* clang-format on */

typedef enum tv_err {
    TV_OK = 0,
#define X(name, status, code, text) TV_ERR_##name,
    TV_ERR_MAP(X)
#undef X
        TV_ERR_COUNT
} tv_err;

/** The HTTP status of an error; 200 for TV_OK. */
int tv_err_status(tv_err err);

/** The code on the wire, e.g. "TableNotFound". */
tv_slice tv_err_code(tv_err err);

/** The service's text for it. */
tv_slice tv_err_text(tv_err err);

/** The name in this source, e.g. "TABLE_NOT_FOUND"; for logs and tests. */
const char *tv_err_name(tv_err err);

/**
 * What a failing function can add to its error: a text that names the value,
 * instead of the default one, elements of its own, and why a request was not let
 * in.  All zeros when it has nothing to add.
 */
typedef struct tv_error_info {
    tv_slice text;    /* in the request's arena */
    tv_slice details; /* likewise: XML elements for the body of an error of queues and blobs */
    tv_slice reason;  /* likewise: plain text for AuthenticationErrorDetail */
} tv_error_info;

#endif
