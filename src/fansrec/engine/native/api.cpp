// What the shared library offers; library.py calls it.
#include "validation.h"

#define OFFERED extern "C" __attribute__((visibility("default")))

// Whether a model can be used. BAD_CALL: the caller means another structure.
OFFERED int fans_check(const Model* model, int64_t size) {
    if (!model || size != sizeof(Model)) return BAD_CALL;
    return is_valid(*model) ? DONE : BAD_MODEL;
}

// `model` has passed fans_check, and has not changed since.
OFFERED int fans_continue(const Model* model, const Call* call) {
    if (!model || !call) return BAD_CALL;
    return answer_call(*call, model->head.items, [&](Batch& batch, Workspace& room, const Crew& crew) {
        bool steps = call->way == AUTOREGRESSIVE;
        if (model->kind == SASREC)
            continue_remembering(*model, batch, steps, room, crew);
        else if (steps)
            continue_rereading(*model, batch, room, crew);
        else
            continue_in_one_pass(*model, batch, call->way == RECALL, room, crew);
    });
}

// Whether a caller means the same structures.
OFFERED int fans_fits(int64_t model, int64_t call) { return model == sizeof(Model) && call == sizeof(Call); }

// The instruction set of this machine that a copy of the library was made for.
OFFERED const char* fans_instructions() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wide) return "avx512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) return "avx2";
#endif
    return "portable";
}
