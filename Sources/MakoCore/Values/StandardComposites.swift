import Foundation
import MakoRecords

// Composite types of Foundation. Each writes its parts itself, without iterating over a list for each row.

// MARK: - Geometry

extension CGFloat: StorableValue {
    /// The column type: double.
    @inlinable public static var columnType: ColumnType { .double }
    @inlinable public static var _$isPlain: Bool { true }
    /// The number as a double.
    public var stored: StoredValue { .double(Double(self)) }
    /// Creates the number of a stored number; nil for other values.
    public init?(stored: StoredValue) {
        guard let value = Double(stored: stored) else { return nil }
        self.init(value)
    }
    /// Reads a number from a field of a row.
    @inlinable @inline(__always)
    public static func read(_ row: RowReader, _ position: Int) -> CGFloat? { CGFloat(row.double(position)) }
    /// Writes the number to a field of a row.
    @inlinable
    public func write(to writer: inout RowWriter, _ position: Int) { writer.set(position, Double(self)) }
}

extension CGPoint: CompositeValue {
    /// The columns `x` and `y`.
    public static let valueParts = [ValuePart("x", \CGPoint.x), ValuePart("y", \CGPoint.y)]

    /// Creates the point of its parts.
    public init(parts: ValueParts<CGPoint>) throws(MakoError) {
        self.init(x: try parts.value(0, as: CGFloat.self), y: try parts.value(1, as: CGFloat.self))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        x.write(to: &writer, position)
        y.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}

extension CGSize: CompositeValue {
    /// The columns `width` and `height`.
    public static let valueParts = [ValuePart("width", \CGSize.width), ValuePart("height", \CGSize.height)]

    /// Creates the size of its parts.
    public init(parts: ValueParts<CGSize>) throws(MakoError) {
        self.init(width: try parts.value(0, as: CGFloat.self), height: try parts.value(1, as: CGFloat.self))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        width.write(to: &writer, position)
        height.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}

extension CGRect: CompositeValue {
    /// The columns `x`, `y`, `width` and `height`.
    public static let valueParts = [
        ValuePart("x", \CGRect.origin.x), ValuePart("y", \CGRect.origin.y),
        ValuePart("width", \CGRect.size.width).alias(\.width),
        ValuePart("height", \CGRect.size.height).alias(\.height),
    ]

    /// Creates the rectangle of its parts.
    public init(parts: ValueParts<CGRect>) throws(MakoError) {
        self.init(
            origin: CGPoint(x: try parts.value(0, as: CGFloat.self), y: try parts.value(1, as: CGFloat.self)),
            size: CGSize(width: try parts.value(2, as: CGFloat.self), height: try parts.value(3, as: CGFloat.self)))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        origin.x.write(to: &writer, position)
        origin.y.write(to: &writer, writer.position(ofPart: 1, at: position))
        size.width.write(to: &writer, writer.position(ofPart: 2, at: position))
        size.height.write(to: &writer, writer.position(ofPart: 3, at: position))
    }
}

/// The parts of a rectangle by the names of their columns, in addition to `origin.x` and the others.
extension Column where V == CGRect {
    /// The x coordinate of the origin.
    public var x: Column<CGFloat> { part("x") }
    /// The y coordinate of the origin.
    public var y: Column<CGFloat> { part("y") }
    /// The width.
    public var width: Column<CGFloat> { part("width") }
    /// The height.
    public var height: Column<CGFloat> { part("height") }
}

extension Column where V == CGRect? {
    /// The x coordinate of the origin; nil for nil.
    public var x: Column<CGFloat?> { part("x") }
    /// The y coordinate of the origin; nil for nil.
    public var y: Column<CGFloat?> { part("y") }
    /// The width; nil for nil.
    public var width: Column<CGFloat?> { part("width") }
    /// The height; nil for nil.
    public var height: Column<CGFloat?> { part("height") }
}

// MARK: - Ranges

extension NSRange: CompositeValue {
    /// The columns `location` and `length`.
    public static let valueParts = [ValuePart("location", \NSRange.location), ValuePart("length", \NSRange.length)]

    /// Creates the range of its parts.
    public init(parts: ValueParts<NSRange>) throws(MakoError) {
        self.init(location: try parts.value(0, as: Int.self), length: try parts.value(1, as: Int.self))
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        location.write(to: &writer, position)
        length.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}

extension Range: CompositeValue where Bound: StorableValue {
    /// The columns `lowerBound` and `upperBound`.
    public static var valueParts: [ValuePart<Range>] {
        [ValuePart("lowerBound", \Range.lowerBound), ValuePart("upperBound", \Range.upperBound)]
    }

    /// Creates the range of its bounds.
    ///
    /// - Throws: `MakoError.invalidArgument` if the lower bound is above the upper one.
    public init(parts: ValueParts<Range>) throws(MakoError) {
        let (lower, upper) = try parts.bounds(of: Bound.self)
        self = lower..<upper
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        lowerBound.write(to: &writer, position)
        upperBound.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}

extension ClosedRange: CompositeValue where Bound: StorableValue {
    /// The columns `lowerBound` and `upperBound`.
    public static var valueParts: [ValuePart<ClosedRange>] {
        [ValuePart("lowerBound", \ClosedRange.lowerBound), ValuePart("upperBound", \ClosedRange.upperBound)]
    }

    /// Creates the range of its bounds.
    ///
    /// - Throws: `MakoError.invalidArgument` if the lower bound is above the upper one.
    public init(parts: ValueParts<ClosedRange>) throws(MakoError) {
        let (lower, upper) = try parts.bounds(of: Bound.self)
        self = lower...upper
    }

    /// Writes the parts to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        lowerBound.write(to: &writer, position)
        upperBound.write(to: &writer, writer.position(ofPart: 1, at: position))
    }
}

extension ValueParts {
    /// The bounds of a range, checked because a range of unordered bounds would trap.
    fileprivate func bounds<Bound: StorableValue & Comparable>(of type: Bound.Type) throws(MakoError) -> (Bound, Bound)
    {
        let lower = try value(0, as: Bound.self)
        let upper = try value(1, as: Bound.self)
        if lower <= upper { return (lower, upper) }
        throw .invalidArgument("a range cannot begin at \(lower) and end at \(upper)")
    }
}

extension Range: StandardComposite where Bound: StorableValue {
    static var isPlain: Bool { Bound._$isPlain }
}
extension ClosedRange: StandardComposite where Bound: StorableValue {
    static var isPlain: Bool { Bound._$isPlain }
}
extension CGPoint: StandardComposite {}
extension CGSize: StandardComposite {}
extension CGRect: StandardComposite {}
extension NSRange: StandardComposite {}
extension Coordinate: StandardComposite {}
extension RGBAColor: StandardComposite {}
