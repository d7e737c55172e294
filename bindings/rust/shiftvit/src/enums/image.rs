//! The choices of `image.h`.

// Written by bindings/rust/generate from the C headers.

use crate::field::enumeration;
use shiftvit_sys as sys;

enumeration! {
    /// The bytes of a pixel in a program's frame.
    pub enum PixelOrder {
        /// Grey.
        Grey = SVIT_PIXELS_GREY,
        /// Red, green, blue.
        Rgb = SVIT_PIXELS_RGB,
        /// Blue, green, red: those of OpenCV.
        Bgr = SVIT_PIXELS_BGR,
        /// Red, green, blue, alpha, whose colours are not multiplied by alpha.
        Rgba = SVIT_PIXELS_RGBA,
        /// Blue, green, red, alpha, likewise; a frame whose fourth byte has no
        /// meaning gives black where it is 0.
        Bgra = SVIT_PIXELS_BGRA,
    }
}

enumeration! {
    /// The order of the five image copies in shifted patch tokenization (SPT).
    pub enum SptOrder {
        /// Original, left-up, left-down, right-up, right-down (Keras example).
        Keras = SVIT_SPT_KERAS,
        /// Original, right-down, left-down, right-up, left-up (the paper's code).
        Paper = SVIT_SPT_PAPER,
    }
}
