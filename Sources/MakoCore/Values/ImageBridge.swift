#if canImport(UIKit)
    public import UIKit

    extension StoredImage {
        /// Creates an image from a `UIImage`, as lossless PNG; nil if it has no pixels.
        public init?(_ image: UIImage) {
            guard let data = image.pngData() else { return nil }
            self.init(data: data)
        }

        /// The image as a `UIImage`; nil if the bytes are no image.
        public var uiImage: UIImage? { UIImage(data: data) }
    }
#elseif canImport(AppKit)
    public import AppKit

    extension StoredImage {
        /// Creates an image from an `NSImage`, as lossless PNG; nil if it has no pixels.
        public init?(_ image: NSImage) {
            guard let tiff = image.tiffRepresentation, let bitmap = NSBitmapImageRep(data: tiff),
                let data = bitmap.representation(using: .png, properties: [:])
            else { return nil }
            self.init(data: data)
        }

        /// The image as an `NSImage`; nil if the bytes are no image.
        public var nsImage: NSImage? { NSImage(data: data) }
    }
#endif
