import MakoRecords

/// A colour in the sRGB space, with components from 0 to 1: `var paint = RGBAColor(red: 1, green: 0.5, blue: 0)` has
/// the columns `paint_red`, `paint_green`, `paint_blue` and `paint_alpha`. Components outside of 0 to 1, as of
/// wide-gamut colours, are stored unchanged.
public struct RGBAColor: CompositeValue, Hashable, Codable {
    /// The red component.
    public var red: Double
    /// The green component.
    public var green: Double
    /// The blue component.
    public var blue: Double
    /// The opacity: 0 is transparent, 1 is opaque.
    public var alpha: Double

    /// Creates a colour of components from 0 to 1, opaque by default.
    public init(red: Double, green: Double, blue: Double, alpha: Double = 1) {
        self.red = red
        self.green = green
        self.blue = blue
        self.alpha = alpha
    }

    /// The columns `red`, `green`, `blue` and `alpha`.
    public static let valueParts = [
        ValuePart("red", \RGBAColor.red), ValuePart("green", \RGBAColor.green), ValuePart("blue", \RGBAColor.blue),
        ValuePart("alpha", \RGBAColor.alpha),
    ]

    /// Creates the colour of its parts.
    public init(parts: ValueParts<RGBAColor>) throws(MakoError) {
        self.init(
            red: try parts.value(0), green: try parts.value(1), blue: try parts.value(2), alpha: try parts.value(3))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        red.write(to: &writer, position)
        green.write(to: &writer, writer.position(ofPart: 1, at: position))
        blue.write(to: &writer, writer.position(ofPart: 2, at: position))
        alpha.write(to: &writer, writer.position(ofPart: 3, at: position))
    }
}
