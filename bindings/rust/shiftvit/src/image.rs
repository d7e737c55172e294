//! Images: decoding and encoding.

use crate::call::{call, create, Handle};
use crate::context::Context;
use crate::dataset::ImageShape;
use crate::enums::PixelOrder;
use crate::error::{Error, Result, Status};
use crate::text;
use shiftvit_sys as sys;
use std::path::Path;
use std::ptr;
use std::slice;

/// A decoded image of bytes `[height, width, channels]`. Any number of threads may read it.
pub struct Image {
    raw: Handle<sys::svit_image>,
    _context: Context,
}

// SAFETY: docs/threading.md: any number of readers, and nothing changes an image.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    /// Reads a JPEG, PNG or WebP file as an image of 1 channel (grey), 3 (RGB) or 4 (RGBA), turned upright.
    pub fn read(context: &Context, path: impl AsRef<Path>, channels: usize) -> Result<Self> {
        let path = text::path(path.as_ref())?;
        // SAFETY: the context is alive, and the text ends with a NUL.
        let raw = create(|out, err| unsafe {
            sys::svit_image_read(out, context.raw(), path.as_ptr(), channels, err)
        })?;
        Ok(Image { raw, _context: context.clone() })
    }

    /// Decodes the bytes of such a file.
    pub fn decode(context: &Context, bytes: &[u8], channels: usize) -> Result<Self> {
        // SAFETY: the context is alive, and the array has the length that is passed.
        let raw = create(|out, err| unsafe {
            let (data, count) = (bytes.as_ptr().cast(), bytes.len());
            sys::svit_image_decode(out, context.raw(), data, count, ptr::null(), channels, err)
        })?;
        Ok(Image { raw, _context: context.clone() })
    }

    /// The height, the width and the channels.
    pub fn shape(&self) -> ImageShape {
        // SAFETY: the handle is alive.
        unsafe {
            ImageShape {
                height: sys::svit_image_height(self.raw.get()),
                width: sys::svit_image_width(self.raw.get()),
                channels: sys::svit_image_channels(self.raw.get()),
            }
        }
    }

    /// The pixels `[height, width, channels]`.
    pub fn pixels(&self) -> &[u8] {
        let ImageShape { height, width, channels } = self.shape();
        // SAFETY: the array has this size and lives as long as the image.
        unsafe {
            slice::from_raw_parts(sys::svit_image_pixels(self.raw.get()), height * width * channels)
        }
    }

    /// Writes `rgb[height, width, 3]` as a PNG file and replaces an old one as a whole.
    pub fn write_png(
        context: &Context,
        path: impl AsRef<Path>,
        rgb: &[u8],
        height: usize,
        width: usize,
    ) -> Result<()> {
        text::exact("rgb", rgb.len(), &[height, width, 3])?;
        let path = text::path(path.as_ref())?;
        // SAFETY: the context is alive, the array has the shape that is passed, and the text ends with a NUL.
        call(|err| unsafe {
            let (raw, path) = (context.raw(), path.as_ptr());
            sys::svit_image_write_png(raw, path, rgb.as_ptr(), height, width, err)
        })
    }
}

impl PixelOrder {
    /// Brings a frame, such as a camera's, to the order of this crate's arrays: pixels of `shape`, whose
    /// channels are 1, 3 or 4. `stride` is the number of bytes from one row of the frame to the next, 0:
    /// those of a row.
    pub fn convert(self, frame: &[u8], stride: usize, shape: ImageShape) -> Result<Vec<u8>> {
        let ImageShape { height, width, channels } = shape;
        let bytes = match self {
            PixelOrder::Grey => 1,
            PixelOrder::Rgb | PixelOrder::Bgr => 3,
            _ => 4,
        };
        let row = width.checked_mul(bytes);
        let step = if stride == 0 { row } else { Some(stride) };
        let rest = step.and_then(|step| step.checked_mul(height.saturating_sub(1)));
        let needed = rest.and_then(|rest| rest.checked_add(row?));
        if needed.map_or(true, |needed| frame.len() < needed) {
            let message = format!(
                "the frame has {} bytes, fewer than {} x {} pixels of {} bytes in rows {} bytes apart",
                frame.len(), height, width, bytes, step.unwrap_or(0)
            );
            return Err(Error::new(Status::Argument, message));
        }
        let mut pixels = text::zeros("an image", &[height, width, channels])?;
        // SAFETY: both arrays have the sizes that are passed.
        call(|err| unsafe {
            let (from, out) = (frame.as_ptr(), pixels.as_mut_ptr());
            sys::svit_pixels_convert(from, self.raw(), height, width, stride, out, channels, err)
        })?;
        Ok(pixels)
    }
}
