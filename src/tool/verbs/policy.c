/*
 * Stored access policies.  The service knows only all of a resource at once, so one is changed by
 * reading all and writing all.
 */
#include "../output/output.h"
#include "../text.h"
#include "resource.h"

#include <stdlib.h>
#include <string.h>

#define POLICIES_MAX 5

static tool_exit read_policies(tool_run *run, void *resource, tavola_policies **ret_policies)
{
    tavola_err err = tool_kind_of(run)->get_policies(resource, run->call, ret_policies);

    return err ? tool_fail(run, err, NULL) : TOOL_OK;
}

tool_exit tool_policy_list(tool_run *run)
{
    void *resource = NULL;
    tavola_policies *policies = NULL;
    tool_output *output = NULL;
    tool_exit exit = tool_resource(run, &resource);

    if (exit)
        return exit;
    exit = read_policies(run, resource, &policies);
    if (!exit)
        exit = tool_output_open(run, true, &output);
    for (size_t i = 0; !exit && i < tavola_policies_count(policies); i++) {
        const tavola_policy *policy = tavola_policies_at(policies, i);
        tool_field fields[] = {
            {"Id", tavola_string(policy->id)},
            {"Permissions", tavola_string(policy->permissions ? policy->permissions : "")},
            {"Start", tool_time_value(policy->start)},
            {"Expiry", tool_time_value(policy->expiry)},
        };
        tool_output_record(output, fields, 4);
    }
    tool_output_close(output);
    tavola_policies_free(policies);
    tool_kind_of(run)->close(resource);
    return exit;
}

/* All policies but the one of this id; returns how many. */
static size_t copy_others(const tavola_policies *policies, const char *id, tavola_policy *to)
{
    size_t count = 0;

    for (size_t i = 0; i < tavola_policies_count(policies); i++)
        if (strcmp(tavola_policies_at(policies, i)->id, id) != 0)
            to[count++] = *tavola_policies_at(policies, i);
    return count;
}

/* Write all policies with `changed` in place of the one of that id, or without it if NULL. */
static tool_exit change(tool_run *run, const char *id, const tavola_policy *changed)
{
    void *resource = NULL;
    tavola_policies *policies = NULL;
    tavola_policy *all = NULL;
    size_t count = 0;
    tool_exit exit = tool_resource(run, &resource);
    tavola_err err;

    if (exit)
        return exit;
    exit = read_policies(run, resource, &policies);
    if (!exit) {
        all = tool_alloc((tavola_policies_count(policies) + 1) * sizeof *all);
        count = copy_others(policies, id, all);
        if (!changed && count == tavola_policies_count(policies)) {
            tool_refuse("there is no policy '%s'", id);
            exit = TOOL_NOT_FOUND;
        } else if (changed && count == POLICIES_MAX) {
            exit = tool_refuse("there are five policies already, and there cannot be more: delete "
                               "one first");
        } else if (changed) {
            all[count++] = *changed;
        }
    }
    if (!exit) {
        err = tool_kind_of(run)->set_policies(resource, all, count, run->call);
        exit = err ? tool_fail(run, err, NULL) : TOOL_OK;
    }
    free(all);
    tavola_policies_free(policies);
    tool_kind_of(run)->close(resource);
    return exit;
}

tool_exit tool_policy_set(tool_run *run)
{
    tavola_policy policy = {.struct_size = sizeof policy,
                            .id = run->args[1],
                            .permissions = tool_value_of(run, TOOL_FLAG_PERMISSIONS)};
    tool_exit exit = tool_time_of(run, TOOL_FLAG_START, &policy.start);

    if (!exit)
        exit = tool_time_of(run, TOOL_FLAG_EXPIRY, &policy.expiry);
    return exit ? exit : change(run, run->args[1], &policy);
}

tool_exit tool_policy_delete(tool_run *run)
{
    tool_exit exit = tool_confirm(run, "Remove policy %s of %s %s?", run->args[1],
                                  tool_kind_of(run)->word, run->args[0]);

    return exit ? exit : change(run, run->args[1], NULL);
}
