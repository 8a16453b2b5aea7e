//! Pictures and documents for models, read from attachments and made to fit the limits of providers.

use std::collections::{BTreeMap, VecDeque};
use std::io::Cursor;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use session::{Attachment, BlobHash, PromptMessage};
use tokio::sync::Semaphore;

use crate::dialect::Dialect;
use crate::tool::World;

/// Most pictures and documents in one request. The newest take precedence.
const SHOWN_MAX: usize = 20;
/// Most pixels on the longer side of a picture. Providers scale larger pictures down themselves.
const SIDE_MAX: u32 = 1_568;
/// Most bytes of a picture. In base64, that is less than the 5 MB that providers accept.
const PICTURE_BYTES_MAX: usize = 3_600_000;
/// Most bytes of a picture's file, and of memory for decoding it.
const FILE_BYTES_MAX: u64 = 24 * 1024 * 1024;
const DECODED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Most pixels of a picture that is decoded; phones take 50 million.
const PIXELS_MAX: u64 = 52_000_000;
/// Most scans of a progressive JPEG; cameras write about ten.
const SCANS_MAX: usize = 64;
/// Most bytes and entries of recent results.
const RECENT_BYTES_MAX: usize = 64 * 1024 * 1024;
const RECENT_MAX: usize = 1_000;
const DECODED_SIDE_MAX: u32 = 16_384;
const DOCUMENT_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Most bytes of all pictures and documents in one request, in base64.
const ALL_BYTES_MAX: usize = 20 * 1024 * 1024;
const JPEG_QUALITY: u8 = 85;

/// Estimated tokens of a picture. Smaller ones count as one of the largest size.
const PICTURE_TOKENS: u64 = 1_600;
/// Tokens per page and bytes per page, to estimate the tokens of a document.
const PAGE_TOKENS: u64 = 2_500;
const PAGE_BYTES: u64 = 60_000;

/// The kind of an attachment that can be sent to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    Picture,
    Document,
}

/// A picture or a document as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    pub kind: MediaKind,
    pub media_type: &'static str,
    /// In base64.
    pub data: Arc<str>,
    pub(crate) tokens: u64,
}

impl Media {
    /// Returns the data as a URL.
    pub(crate) fn url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.data)
    }
}

/// The pictures and documents of a question, by content hash.
pub type Shown = Arc<BTreeMap<BlobHash, Media>>;

/// Returns the kind of an attachment, from its declared media type.
pub fn kind_of(attachment: &Attachment) -> Option<MediaKind> {
    match attachment.media_type.as_str() {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(MediaKind::Picture),
        "application/pdf" => Some(MediaKind::Document),
        _ => None,
    }
}

/// Reads pictures and documents for all runs of a server. It decodes one file at a time, also for runs that were stopped
/// meanwhile, so that many large pictures need no more memory than one. Recent results are kept.
#[derive(Debug)]
pub struct MediaReader {
    decoding: Arc<Semaphore>,
    recent: Mutex<Recent>,
}

impl Default for MediaReader {
    fn default() -> Self {
        Self { decoding: Arc::new(Semaphore::new(1)), recent: Mutex::default() }
    }
}

/// Results by content hash, the oldest first in `order`. `None` stands for a file that can't be shown.
#[derive(Debug, Default)]
struct Recent {
    media: BTreeMap<BlobHash, Option<Media>>,
    order: VecDeque<BlobHash>,
    bytes: usize,
}

impl Recent {
    fn keep(&mut self, blob: BlobHash, media: Option<Media>) {
        let size = |media: &Option<Media>| media.as_ref().map_or(0, |media| media.data.len());
        self.bytes += size(&media);
        if let Some(before) = self.media.insert(blob.clone(), media) {
            self.bytes -= size(&before);
        } else {
            self.order.push_back(blob);
        }
        while self.bytes > RECENT_BYTES_MAX || self.order.len() > RECENT_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.media.remove(&oldest).as_ref().map_or(0, size);
        }
    }
}

impl MediaReader {
    /// Reads the pictures and documents of `messages` that `dialect` accepts, newest first, up to `tokens_max`.
    pub(crate) async fn read(
        &self,
        messages: &[PromptMessage],
        dialect: &Dialect,
        world: &dyn World,
        tokens_max: u64,
    ) -> Shown {
        let mut shown = BTreeMap::new();
        let (mut bytes, mut tokens) = (0, 0);
        for attachment in newest_first(messages) {
            let accepted = match kind_of(&attachment) {
                Some(MediaKind::Picture) => dialect.pictures && attachment.size_bytes <= FILE_BYTES_MAX,
                Some(MediaKind::Document) => dialect.documents && attachment.size_bytes <= DOCUMENT_BYTES_MAX,
                None => false,
            };
            if !accepted || shown.contains_key(&attachment.blob) {
                continue;
            }
            let Some(media) = self.media(&attachment, world).await else { continue };
            let fits = bytes + media.data.len() <= ALL_BYTES_MAX && tokens + media.tokens <= tokens_max;
            if !fits || shown.len() >= SHOWN_MAX {
                break;
            }
            bytes += media.data.len();
            tokens += media.tokens;
            shown.insert(attachment.blob, media);
        }
        Arc::new(shown)
    }

    async fn media(&self, attachment: &Attachment, world: &dyn World) -> Option<Media> {
        if let Some(known) = self.recent().media.get(&attachment.blob).cloned() {
            return known;
        }
        let turn = self.decoding.clone().acquire_owned().await.ok()?;
        // Another run may have read it meanwhile.
        if let Some(known) = self.recent().media.get(&attachment.blob).cloned() {
            return known;
        }
        let read = match world.blob(attachment.blob.clone()).await {
            Ok(Some(bytes)) => {
                let decode = move || {
                    let media = media_of(bytes);
                    drop(turn);
                    media
                };
                tokio::task::spawn_blocking(decode).await.ok().flatten()
            }
            Ok(None) => None,
            Err(reason) => {
                tracing::warn!(%reason, "failed to read attachment");
                // It may be readable in the next step.
                return None;
            }
        };
        self.recent().keep(attachment.blob.clone(), read.clone());
        read
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the pictures and documents among the attachments, newest first.
fn newest_first(messages: &[PromptMessage]) -> Vec<Attachment> {
    let mut attachments = Vec::new();
    for message in messages.iter().rev() {
        if let PromptMessage::User(message) = message {
            let media = message.attachments.iter().rev().filter(|attachment| kind_of(attachment).is_some());
            attachments.extend(media.cloned());
        }
    }
    attachments
}

/// Detects a picture or document by a file's content, whatever its declared type, and prepares it for sending.
fn media_of(bytes: Vec<u8>) -> Option<Media> {
    if bytes.starts_with(b"%PDF-") {
        let pages = (bytes.len() as u64 / PAGE_BYTES).max(1);
        return Some(media(MediaKind::Document, "application/pdf", &bytes, pages * PAGE_TOKENS));
    }
    let format = image::guess_format(&bytes).ok()?;
    let media_type = match format {
        ImageFormat::Png => "image/png",
        ImageFormat::Jpeg => "image/jpeg",
        ImageFormat::Gif => "image/gif",
        ImageFormat::WebP => "image/webp",
        _ => return None,
    };
    let mut reader = ImageReader::with_format(Cursor::new(&bytes), format);
    reader.limits(limits());
    let (width, height) = ImageReader::with_format(Cursor::new(&bytes), format).into_dimensions().ok()?;
    if u64::from(width) * u64::from(height) > PIXELS_MAX || scans(format, &bytes) > SCANS_MAX {
        return None;
    }
    let mut decoder = reader.into_decoder().ok()?;
    let orientation = decoder.orientation().ok()?;
    // A file that can't be decoded would be refused with the whole request.
    let picture = DynamicImage::from_decoder(decoder).ok()?;
    if width.max(height) <= SIDE_MAX && bytes.len() <= PICTURE_BYTES_MAX {
        return Some(media(MediaKind::Picture, media_type, &bytes, PICTURE_TOKENS));
    }
    // `thumbnail` needs no copy of the whole picture.
    let mut picture = match width.max(height) > SIDE_MAX {
        true => picture.thumbnail(SIDE_MAX, SIDE_MAX),
        false => picture,
    };
    // The new file doesn't say how to turn it.
    picture.apply_orientation(orientation);
    let (media_type, bytes) = encoded(&picture)?;
    Some(media(MediaKind::Picture, media_type, &bytes, PICTURE_TOKENS))
}

/// Returns the number of scans of a JPEG. Each is decoded over the whole picture.
fn scans(format: ImageFormat, bytes: &[u8]) -> usize {
    match format {
        ImageFormat::Jpeg => bytes.windows(2).filter(|marker| *marker == [0xff, 0xda]).count(),
        _ => 0,
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(DECODED_SIDE_MAX);
    limits.max_image_height = Some(DECODED_SIDE_MAX);
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    limits
}

/// Encodes a picture: with transparency as PNG if that is small enough, otherwise as JPEG.
fn encoded(picture: &DynamicImage) -> Option<(&'static str, Vec<u8>)> {
    if picture.color().has_alpha() {
        let mut png = Vec::new();
        picture.write_to(&mut Cursor::new(&mut png), ImageFormat::Png).ok()?;
        if png.len() <= PICTURE_BYTES_MAX {
            return Some(("image/png", png));
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&picture.to_rgb8()).ok()?;
    Some(("image/jpeg", jpeg))
}

fn media(kind: MediaKind, media_type: &'static str, bytes: &[u8], tokens: u64) -> Media {
    Media { kind, media_type, data: STANDARD.encode(bytes).into(), tokens }
}

#[cfg(test)]
mod tests {
    use image::{ImageEncoder, Rgb, RgbImage, RgbaImage};

    use super::*;

    fn written(picture: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        picture.into().write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn read_back(media: &Media) -> DynamicImage {
        image::load_from_memory(&STANDARD.decode(media.data.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn a_small_picture_is_sent_as_it_is() {
        for (format, media_type) in [
            (ImageFormat::Png, "image/png"),
            (ImageFormat::Jpeg, "image/jpeg"),
            (ImageFormat::Gif, "image/gif"),
            (ImageFormat::WebP, "image/webp"),
        ] {
            let bytes = written(RgbImage::from_pixel(40, 20, Rgb([1, 2, 3])), format);
            let media = media_of(bytes.clone()).unwrap();
            assert_eq!((media.kind, media.media_type), (MediaKind::Picture, media_type));
            assert_eq!(STANDARD.decode(media.data.as_bytes()).unwrap(), bytes);
        }
    }

    #[test]
    fn a_large_picture_is_scaled_down() {
        let wide = media_of(written(RgbImage::new(4_000, 1_000), ImageFormat::Png)).unwrap();
        assert_eq!(wide.media_type, "image/jpeg");
        let picture = read_back(&wide);
        assert_eq!((picture.width(), picture.height()), (SIDE_MAX, SIDE_MAX / 4));
        let clear = media_of(written(RgbaImage::new(2_000, 2_000), ImageFormat::Png)).unwrap();
        assert_eq!((clear.media_type, read_back(&clear).width()), ("image/png", SIDE_MAX));
    }

    #[test]
    fn files_of_other_kinds_and_damaged_pictures_are_not_sent() {
        let whole = written(RgbImage::new(2_000, 2_000), ImageFormat::Png);
        for bytes in [b"hello".to_vec(), Vec::new(), whole[..whole.len() / 2].to_vec(), b"<svg/>".to_vec()] {
            assert_eq!(media_of(bytes), None);
        }
        assert_eq!(media_of(b"%PDF-1.7 ...".to_vec()).unwrap().kind, MediaKind::Document);
    }

    #[test]
    fn a_picture_too_large_for_memory_is_not_decoded() {
        // The header of a PNG of 60,000 by 60,000 pixels, and no more.
        let mut bytes = written(RgbImage::new(10, 10), ImageFormat::Png);
        bytes[16..24].copy_from_slice(&[0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60]);
        assert_eq!(media_of(bytes), None);
    }

    #[test]
    fn a_phones_picture_is_upright() {
        // An EXIF block that says: turn by 90 degrees.
        let mut exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([6, 0, 0, 0, 0, 0, 0, 0]);
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new(&mut bytes);
        encoder.set_exif_metadata(exif).unwrap();
        encoder.encode_image(&RgbImage::new(3_000, 1_500)).unwrap();
        let picture = read_back(&media_of(bytes).unwrap());
        assert_eq!((picture.width(), picture.height()), (SIDE_MAX / 2, SIDE_MAX));
    }

    #[test]
    fn recent_results_are_bounded() {
        let mut recent = Recent::default();
        let shown = media(MediaKind::Picture, "image/png", &[0; 1_000_000], 1);
        for number in 0..200 {
            recent.keep(BlobHash(number.to_string()), Some(shown.clone()));
            recent.keep(BlobHash(format!("none {number}")), None);
        }
        assert!(recent.bytes <= RECENT_BYTES_MAX && recent.order.len() <= RECENT_MAX);
        assert_eq!(recent.media.len(), recent.order.len());
        assert!(recent.media.contains_key(&BlobHash("199".to_owned())));
        assert!(!recent.media.contains_key(&BlobHash("0".to_owned())));
    }

    #[test]
    fn a_jpeg_of_endless_scans_is_not_decoded() {
        let mut bytes = written(RgbImage::new(10, 10), ImageFormat::Jpeg);
        bytes.extend([0xff, 0xda].repeat(SCANS_MAX));
        assert_eq!(media_of(bytes), None);
    }

    /// A world that must not be asked for a file.
    struct Never;
    impl World for Never {
        fn now(&self) -> session::Time {
            session::Time(0)
        }
        fn blob(
            &self,
            _: BlobHash,
        ) -> futures_util::future::BoxFuture<'static, Result<Option<Vec<u8>>, String>> {
            unreachable!("nothing is read before its turn")
        }
    }

    #[tokio::test]
    async fn one_file_is_decoded_at_a_time_also_for_a_run_that_was_stopped() {
        let reader = MediaReader::default();
        let turn = reader.decoding.clone().acquire_owned().await.unwrap();
        let attachment = Attachment {
            name: "a".to_owned(),
            media_type: "image/png".to_owned(),
            blob: BlobHash("a".to_owned()),
            size_bytes: 1,
        };
        let mut waiting = Box::pin(reader.media(&attachment, &Never));
        assert!(futures_util::FutureExt::now_or_never(&mut waiting).is_none());
        drop(turn);
    }
}
