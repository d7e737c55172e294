//! Images: decoding and encoding.

use crate::call::{call, create, Handle};
use crate::context::Context;
use crate::dataset::ImageShape;
use crate::error::Result;
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
