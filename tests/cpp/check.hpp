// What the tests of the C++ headers share: checks of conditions and calls, and a model.
#include <shiftvit/shiftvit.hpp>

#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

// WORKS(call) requires that a call succeeds; code_of(call) is its status, and its text in `said`.
static std::string said;
#ifdef SHIFTVIT_NO_EXCEPTIONS
template <class Call> svit_status code_of(Call call)
{
    shiftvit::status status = call();
    said = status.message();
    CHECK(bool(status) == (status.code() == SVIT_OK));
    return status.code();
}
static_assert(std::is_same_v<shiftvit::result, shiftvit::status>);
#else
template <class Call> svit_status code_of(Call call)
{
    said = "";
    try {
        call();
    } catch (const shiftvit::error &failure) {
        said = failure.what();
        return failure.code();
    }
    return SVIT_OK;
}
static_assert(std::is_base_of_v<std::exception, shiftvit::error>);
#endif
#define WORKS(call)                                                                                \
    CHECK(code_of([&] { return call; }) == SVIT_OK ||                                              \
          (std::fprintf(stderr, "%s\n", said.c_str()), false))
#define FAILS(call, code, part)                                                                    \
    CHECK(code_of([&] { return call; }) == code && said.find(part) != std::string::npos)

static shiftvit::model small_model(shiftvit::context &context)
{
    auto config = shiftvit::model_config();
    shiftvit::model model;
    WORKS(shiftvit::from_json(config, R"({"dim": 48, "blocks": [1, 1]})"));
    WORKS(model.create(context, config, 1));
    WORKS(model.set_pipeline(shiftvit::pipeline_config()));
    return model;
}
