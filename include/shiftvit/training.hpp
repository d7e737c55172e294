/* Trainers and evaluation for C++. */
#ifndef SHIFTVIT_TRAINING_HPP
#define SHIFTVIT_TRAINING_HPP

#include <shiftvit/network.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* The training loop: trainer.h. */
class trainer : public handle<svit_trainer, svit_trainer_free>
{
  public:
    using handle::handle;
    /* `validation` may be false: there is none. */
    result create(const context &c, model &m, const dataset &training, const dataset &validation,
                  const svit_trainer_config &config, const svit_optimizer_config &optimizer,
                  const svit_pipeline_config &pipeline)
    {
        return take(svit_trainer_create, c.get(), m.get(), training.get(), validation.get(),
                    &config, &optimizer, &pipeline);
    }
    result resume()
    {
        return detail::call(svit_trainer_resume, get());
    }
    result set_loss(svit_loss_function function, void *user)
    {
        return detail::call(svit_trainer_set_loss, get(), function, user);
    }
    /* The trainer's optimiser, which lives until the trainer is resumed or freed. */
    borrowed_optimizer optimizer() noexcept
    {
        return borrowed_optimizer(svit_trainer_optimizer(get()));
    }
    /* The same for functions of the C interface: it is not freed by the caller. */
    svit_optimizer *borrow_optimizer() noexcept
    {
        return svit_trainer_optimizer(get());
    }
    result step(svit_trainer_event &event)
    {
        return detail::call(svit_trainer_step, get(), &event, sizeof event);
    }
    result checkpoint()
    {
        return detail::call(svit_trainer_checkpoint, get());
    }
    std::int32_t stop_value() const noexcept
    {
        return svit_trainer_stop_value(get());
    }
    std::size_t history_count() const noexcept
    {
        return svit_trainer_history_count(get());
    }
    result history(std::size_t index, svit_trainer_event &event) const
    {
        return detail::call(svit_trainer_history, get(), index, &event, sizeof event);
    }
    result run()
    {
        return detail::call(svit_trainer_run, get(), nullptr, nullptr);
    }

    /* Calls int32_t callback(const svit_trainer_event &) after each event. It may return bool, too.
     * Another value than 0 stops the run, which fails with SVIT_E_STOPPED. An exception of the
     * callback stops it too and is thrown again here. */
    template <class Callback> result run(Callback &&callback)
    {
        using returned =
            std::decay_t<decltype(callback(std::declval<const svit_trainer_event &>()))>;
        static_assert(std::is_same_v<returned, bool> || std::is_same_v<returned, int> ||
                          std::is_same_v<returned, std::int32_t>,
                      "the function that trainer.run calls returns bool, int or std::int32_t");
        observer<Callback> user = {&callback, nullptr};
        svit_error record = error_record();
        svit_status code = svit_trainer_run(get(), observe<Callback>, &user, &record);
#ifndef SHIFTVIT_NO_EXCEPTIONS
        if (user.thrown)
            std::rethrow_exception(user.thrown);
#endif
        return shiftvit::check(code, record);
    }

  private:
    template <class Callback> struct observer {
        std::remove_reference_t<Callback> *callback;
        std::exception_ptr thrown;
    };
    template <class Callback>
    static std::int32_t observe(const svit_trainer_event *event, void *user)
    {
        auto &self = *static_cast<observer<Callback> *>(user);
#ifdef SHIFTVIT_NO_EXCEPTIONS
        return (*self.callback)(*event);
#else
        try {
            return (*self.callback)(*event);
        } catch (...) {
            self.thrown = std::current_exception();
            return 1;
        }
#endif
    }
};

/* Evaluates a model: the mean cross-entropy and the fractions of right answers. `compute` is the
 * precision, SVIT_COMPUTE_*. Without `pipeline` it is the model's. */
inline result evaluate(const context &c, const model &m, const dataset &data, std::size_t batch,
                       double &loss, double &top1, double &top5,
                       std::int32_t compute = SVIT_COMPUTE_F32)
{
    return detail::call(svit_evaluate_with_compute, c.get(), m.get(), data.get(), nullptr, batch,
                        compute, &loss, &top1, &top5);
}
inline result evaluate(const context &c, const model &m, const dataset &data,
                       const svit_pipeline_config &pipeline, std::size_t batch, double &loss,
                       double &top1, double &top5, std::int32_t compute = SVIT_COMPUTE_F32)
{
    return detail::call(svit_evaluate_with_compute, c.get(), m.get(), data.get(), &pipeline, batch,
                        compute, &loss, &top1, &top5);
}

/* Computes the logits[count, classes] of all samples, in a precision SVIT_COMPUTE_* and averaged
 * over versions SVIT_TTA_*, and the labels[count], which may be nullptr. Without `pipeline` it is
 * the model's. */
inline result evaluate_logits(const context &c, const model &m, const dataset &data,
                              std::size_t batch, std::int32_t compute, std::int32_t tta,
                              float *logits, std::int32_t *labels)
{
    return detail::call(svit_evaluate_logits, c.get(), m.get(), data.get(), nullptr, batch, compute,
                        tta, logits, labels);
}
inline result evaluate_logits(const context &c, const model &m, const dataset &data,
                              const svit_pipeline_config &pipeline, std::size_t batch,
                              std::int32_t compute, std::int32_t tta, float *logits,
                              std::int32_t *labels)
{
    return detail::call(svit_evaluate_logits, c.get(), m.get(), data.get(), &pipeline, batch,
                        compute, tta, logits, labels);
}

/* Measures of several labels for an image: metrics.h. */
inline result average_precision(const context &c, const float *logits, const float *targets,
                                std::size_t n, std::size_t classes, double *average_precision)
{
    return detail::call(svit_average_precision, c.get(), logits, targets, n, classes,
                        average_precision);
}
inline result choose_threshold(const context &c, const float *logits, std::size_t n,
                               std::size_t classes, double accepted, double &threshold)
{
    return detail::call(svit_choose_threshold, c.get(), logits, n, classes, accepted, &threshold);
}

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
