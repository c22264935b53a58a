// A value among the elements of a column of keys of any table: a byte key that starts with FF, which UTF-8 never
// contains and a reference therefore never has, followed by the value as the catalogue encodes it. That encoding has
// its own length, so that no element begins another.

extension RowKey {
    private static let valueMark: UInt8 = 0xFF

    /// Makes the element of a column of keys of any table that holds a value, not a reference.
    ///
    /// ```swift
    /// let element = RowKey(elementOf: .text("ripe"))
    /// print(element.elementValue ?? .null)    // 'ripe'
    /// ```
    package init(elementOf value: Value) {
        var sink = ByteSink()
        sink.byte(Self.valueMark)
        sink.value(value)
        self = .bytes(sink.bytes)
    }

    /// The value of the element, with its type and all its bits; `nil` for an element that holds none.
    public var elementValue: Value? {
        guard case .bytes(let bytes) = self, bytes.first == Self.valueMark else { return nil }
        var source = ByteSource(bytes, what: "an element")
        do throws(RecordError) {
            _ = try source.byte()
            let value = try source.value()
            return source.isAtEnd ? value : nil
        } catch { return nil }
    }
}
