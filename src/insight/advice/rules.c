/* The tables of rules and thresholds. */
#include "insight/advice/rules.h"

#include <math.h>

#include "insight/advice/judging.h"

_Static_assert(TV_RULES <= 64, "silenced_by has a bit for each");

static const tv_rule_info rule_infos[] = {
#define BY(code) (UINT64_C(1) << TV_RULE_##code)
#define RULE(code, name, title, seen, chapter, anchor, text, pattern, cure, functions, each, fn,   \
             ...)                                                                                  \
    {#code, name,    title, seen,      chapter,                    anchor,                         \
     text,  pattern, cure,  functions, .of_##each = tv_judge_##fn,                                 \
     __VA_ARGS__},
#include "insight/advice/rules.def"
#undef RULE
#undef BY
};

const tv_rule_info *tv_rule_info_of(tv_rule rule)
{
    tv_assert(rule >= 0 && rule < TV_RULES);
    return &rule_infos[rule];
}

bool tv_rule_parse(tv_slice name, tv_rule *ret_rule)
{
    for (int i = 0; i < TV_RULES; i++) {
        if (tv_slice_eq(name, tv_slice_of(rule_infos[i].name)) ||
            tv_slice_eq(name, tv_slice_of(rule_infos[i].code))) {
            *ret_rule = (tv_rule)i;
            return true;
        }
    }
    return false;
}

static const tv_param_info param_infos[] = {
#define P(rule, name, live, run, is_fixed) {TV_RULE_##rule, #name, live, run, is_fixed},
#include "insight/advice/params.def"
#undef P
};

const tv_param_info *tv_param_info_of(tv_param param)
{
    tv_assert(param < TV_PARAMS);
    return &param_infos[param];
}

tv_params tv_params_default(tv_evidence_mode mode)
{
    tv_params params;

    for (int i = 0; i < TV_PARAMS; i++)
        params.value[i] = mode == TV_EVIDENCE_RUN ? param_infos[i].run : param_infos[i].live;
    return params;
}

tv_params_set_result tv_params_set(tv_params *params, tv_slice name, double value)
{
    size_t dot = tv_slice_find(name, '.');
    tv_rule rule = TV_RULE_ALL;
    tv_slice owner = tv_slice_take(name, dot), param;

    if (dot == name.len || (!tv_slice_eq(owner, TV_LIT("all")) && !tv_rule_parse(owner, &rule)))
        return TV_PARAMS_NO_SUCH;
    param = tv_slice_skip(name, dot + 1);
    for (int i = 0; i < TV_PARAMS; i++) {
        if (param_infos[i].rule != rule || !tv_slice_eq(param, tv_slice_of(param_infos[i].name)))
            continue;
        if (param_infos[i].is_fixed)
            return TV_PARAMS_FIXED;
        if (!isfinite(value) || value < 0)
            return TV_PARAMS_NOT_A_NUMBER;
        params->value[i] = value;
        return TV_PARAMS_SET;
    }
    return TV_PARAMS_NO_SUCH;
}

const char *tv_severity_name(tv_severity severity)
{
    static const char *const names[TV_SEVERITIES] = {"info", "warning", "error"};

    return names[severity];
}

const char *tv_confidence_name(tv_confidence confidence)
{
    static const char *const names[TV_CONFIDENCES] = {"low", "medium", "high", "certain"};

    return names[confidence];
}

const char *tv_subject_kind_name(tv_subject_kind kind)
{
    static const char *const names[TV_SUBJECT_KINDS] = {
        "shape", "partition", "entity", "table", "property", "keys", "client", "account"};

    return names[kind];
}

double tv_cost_ms(const tv_cost *cost)
{
    return cost->rows * 1e-3 + cost->requests * 50e-3 + cost->bytes * 1e-6 + cost->throttled;
}
