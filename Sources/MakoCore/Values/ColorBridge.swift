#if canImport(UIKit)
    public import UIKit

    extension RGBAColor {
        /// Creates a colour from a `UIColor`; nil if it has no red, green and blue components.
        public init?(_ color: UIColor) {
            var red: CGFloat = 0
            var green: CGFloat = 0
            var blue: CGFloat = 0
            var alpha: CGFloat = 0
            guard color.getRed(&red, green: &green, blue: &blue, alpha: &alpha) else { return nil }
            self.init(red: Double(red), green: Double(green), blue: Double(blue), alpha: Double(alpha))
        }

        /// The colour as a `UIColor`.
        public var uiColor: UIColor {
            UIColor(red: CGFloat(red), green: CGFloat(green), blue: CGFloat(blue), alpha: CGFloat(alpha))
        }
    }
#elseif canImport(AppKit)
    public import AppKit

    extension RGBAColor {
        /// Creates a colour from an `NSColor`; nil if it has no red, green and blue components, as a pattern.
        public init?(_ color: NSColor) {
            guard let color = color.usingColorSpace(.extendedSRGB) else { return nil }
            self.init(
                red: Double(color.redComponent), green: Double(color.greenComponent),
                blue: Double(color.blueComponent), alpha: Double(color.alphaComponent))
        }

        /// The colour as an `NSColor`.
        public var nsColor: NSColor {
            NSColor(
                colorSpace: .extendedSRGB,
                components: [CGFloat(red), CGFloat(green), CGFloat(blue), CGFloat(alpha)], count: 4)
        }
    }
#endif
