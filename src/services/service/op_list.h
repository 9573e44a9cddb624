/*
 * The tables of operations as a text, for readers who want to know what a service can
 * do and what an operation needs of a SAS.  A line for each operation but those that no
 * client asks for by name (unknown ones, preflights), in columns with a tab in between;
 * "-" where there is nothing:
 *
 *     service     table, queue or blob
 *     operation   its name in Storage Analytics
 *     path        the form that the path has after the account; "-" when something else
 *                 in a request tells it from an operation that has one
 *     method      with HEAD after it where that asks for the same
 *     comp        the parameter
 *     sas         the kinds of SAS that may do it; "-" when it is for keys alone
 *     srt         the resource type that an account SAS needs
 *     all_of      permissions (letters of `sp`), each needed
 *     any_of      permissions, of which one is needed
 *     flags       those of tv_op_flag, as words
 *     body_max    the most bytes that a body may have
 */
#ifndef TV_SERVICES_SERVICE_OP_LIST_H
#define TV_SERVICES_SERVICE_OP_LIST_H

#include "base/buf.h"
#include "services/service/service.h"

/** Append the line with the names of the columns. */
void tv_op_list_add_heading(tv_buf *out);

/** Append the lines of a service. */
void tv_op_list_add(tv_buf *out, const tv_service_spec *spec);

#endif
