/* Images, and what a pipeline makes of them, for C++. */
#ifndef SHIFTVIT_IMAGE_HPP
#define SHIFTVIT_IMAGE_HPP

#include <shiftvit/data.hpp>

namespace shiftvit
{
inline namespace SHIFTVIT_KIND
{

/* A decoded image of 8-bit pixels [height, width, channels]: image.h. */
class image : public handle<svit_image, svit_image_free>
{
  public:
    using handle::handle;
    result read(const context &c, const char *path, std::size_t channels)
    {
        return take(svit_image_read, c.get(), path, channels);
    }
    result decode(const context &c, const void *data, std::size_t bytes, const char *name,
                  std::size_t channels)
    {
        return take(svit_image_decode, c.get(), data, bytes, name, channels);
    }
    std::size_t height() const noexcept
    {
        return svit_image_height(get());
    }
    std::size_t width() const noexcept
    {
        return svit_image_width(get());
    }
    std::size_t channels() const noexcept
    {
        return svit_image_channels(get());
    }
    const std::uint8_t *pixels() const noexcept
    {
        return svit_image_pixels(get());
    }
};

inline result write_png(const context &c, const char *path, const std::uint8_t *rgb,
                        std::size_t height, std::size_t width)
{
    return detail::call(svit_image_write_png, c.get(), path, rgb, height, width);
}
inline result resize_antialias(const context &c, const std::uint8_t *in, std::size_t height,
                               std::size_t width, std::uint8_t *out, std::size_t out_height,
                               std::size_t out_width)
{
    return detail::call(svit_resize_antialias_u8, c.get(), in, height, width, out, out_height,
                        out_width);
}

/* The steps of a pipeline: pipeline.h. */
inline result apply_source(const context &c, const svit_pipeline_config &pipeline,
                           const std::uint8_t *pixels, std::size_t height, std::size_t width,
                           std::uint8_t *out)
{
    return detail::call(svit_pipeline_apply_source, c.get(), &pipeline, pixels, height, width, out);
}
inline result apply_evaluation(const context &c, const svit_pipeline_config &pipeline,
                               const std::uint8_t *pixels, std::size_t n, std::size_t height,
                               std::size_t width, float *out)
{
    return detail::call(svit_pipeline_apply_evaluation, c.get(), &pipeline, pixels, n, height,
                        width, out);
}
inline result apply_evaluation(const context &c, const svit_pipeline_config &pipeline,
                               const float *images, std::size_t n, std::size_t height,
                               std::size_t width, float *out)
{
    return detail::call(svit_pipeline_apply_evaluation_f32, c.get(), &pipeline, images, n, height,
                        width, out);
}

} // namespace SHIFTVIT_KIND
} // namespace shiftvit

#endif
