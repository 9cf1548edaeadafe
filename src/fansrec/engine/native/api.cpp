#include "validation.h"

// Returns DONE if a model can be used, BAD_MODEL if not, or BAD_CALL if the caller's structure has another size.
EXPORTED int fans_check(const Model* model, int64_t size) {
    if (!model || size != int64_t(sizeof(Model))) return BAD_CALL;
    return is_valid(*model) ? DONE : BAD_MODEL;
}

// Continues the lists of a call. `model` must have passed fans_check and must not have changed since.
EXPORTED int fans_continue(const Model* model, const Call* call) {
    if (!model || !call) return BAD_CALL;
    return run_call(*call, model->head.items, [&](Batch& batch, Workspace& workspace, const ThreadPool& pool) {
        bool steps = call->mode == AUTOREGRESSIVE;
        if (model->kind == SASREC)
            continue_sasrec(*model, batch, steps, workspace, pool);
        else if (steps)
            continue_autoregressive(*model, batch, workspace, pool);
        else
            continue_one_pass(*model, batch, call->mode == RECALL, workspace, pool);
    });
}

// Returns the widest instruction set of this machine that a copy of the library is compiled for.
EXPORTED const char* fans_instructions() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wide) return "avx512";
    bool medium = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    if (medium) return "avx2";
#endif
    return "portable";
}
