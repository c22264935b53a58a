#if canImport(UIKit)
    public import UIKit

    extension RGBAColor {
        /// Nil: the colour has no parts in a space of red, green and blue.
        public init?(_ color: UIColor) {
            var red: CGFloat = 0
            var green: CGFloat = 0
            var blue: CGFloat = 0
            var alpha: CGFloat = 0
            guard color.getRed(&red, green: &green, blue: &blue, alpha: &alpha) else { return nil }
            self.init(red: Double(red), green: Double(green), blue: Double(blue), alpha: Double(alpha))
        }

        public var uiColor: UIColor {
            UIColor(red: CGFloat(red), green: CGFloat(green), blue: CGFloat(blue), alpha: CGFloat(alpha))
        }
    }
#elseif canImport(AppKit)
    public import AppKit

    extension RGBAColor {
        /// Nil: the colour has no parts in a space of red, green and blue, as a pattern has none.
        public init?(_ color: NSColor) {
            guard let color = color.usingColorSpace(.extendedSRGB) else { return nil }
            self.init(
                red: Double(color.redComponent), green: Double(color.greenComponent),
                blue: Double(color.blueComponent), alpha: Double(color.alphaComponent))
        }

        public var nsColor: NSColor {
            NSColor(
                colorSpace: .extendedSRGB,
                components: [CGFloat(red), CGFloat(green), CGFloat(blue), CGFloat(alpha)], count: 4)
        }
    }
#endif
