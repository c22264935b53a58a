import Foundation
import MakoRecords

/// An array, a set or a dictionary whose elements are coded one by one, each as a column of its type would hold it.
///
/// For elements that are not `Codable`: enumerations with raw values, `Character`, and types that conform to
/// ``StorableValue`` only.
public protocol ValueList {
    /// The type of the elements.
    associatedtype ListElement

    /// Encodes the elements in a form.
    func encode<Form: EntityCoding.ListForm>(_ form: Form.Type, to encoder: any Encoder) throws
    where Form.Element == ListElement
    /// Creates the collection from elements in a form.
    init<Form: EntityCoding.ListForm>(_ form: Form.Type, from decoder: any Decoder) throws
    where Form.Element == ListElement
}

extension EntityCoding {
    /// Converts the elements of a ``ValueList`` to stored values and back.
    public protocol ListForm {
        /// The type of the elements.
        associatedtype Element
        /// The column type of an element.
        static var columnType: ColumnType { get }
        /// Returns the element as a column holds it.
        static func stored(_ element: Element) -> StoredValue
        /// Returns the element for a stored value; nil if there is none.
        static func element(_ stored: StoredValue) -> Element?
    }

    /// Elements stored as their type stores them.
    public enum StorableForm<Element: StorableValue>: ListForm {
        /// The column type of the element.
        public static var columnType: ColumnType { Element.columnType }
        /// Returns the element as a column holds it.
        public static func stored(_ element: Element) -> StoredValue { element.stored }
        /// Returns the element for a stored value; nil if it is none.
        public static func element(_ stored: StoredValue) -> Element? { Element(stored: stored) }
    }

    /// Elements stored as their raw values.
    public enum RawForm<Element: RawRepresentable>: ListForm where Element.RawValue: StorableValue {
        /// The column type of the raw value.
        public static var columnType: ColumnType { Element.RawValue.columnType }
        /// Returns the raw value as a column holds it.
        public static func stored(_ element: Element) -> StoredValue { element.rawValue.stored }
        /// Returns the element with a stored raw value; nil if there is none.
        public static func element(_ stored: StoredValue) -> Element? {
            Element.RawValue(stored: stored).flatMap { Element(rawValue: $0) }
        }
    }
}

extension Array: ValueList {
    /// The type of the elements.
    public typealias ListElement = Element

    public func encode<Form: EntityCoding.ListForm>(_ form: Form.Type, to encoder: any Encoder) throws
    where Form.Element == Element {
        try map { CodedElement<Form>(element: $0) }.encode(to: encoder)
    }
    /// Creates the array from elements in a form.
    public init<Form: EntityCoding.ListForm>(_ form: Form.Type, from decoder: any Decoder) throws
    where Form.Element == Element {
        self = try [CodedElement<Form>](from: decoder).map(\.element)
    }
}

extension Set: ValueList {
    /// The type of the members.
    public typealias ListElement = Element

    public func encode<Form: EntityCoding.ListForm>(_ form: Form.Type, to encoder: any Encoder) throws
    where Form.Element == Element {
        try JSONText.ordered(map { CodedElement<Form>(element: $0) }).encode(to: encoder)
    }
    /// Creates the set from members in a form.
    public init<Form: EntityCoding.ListForm>(_ form: Form.Type, from decoder: any Decoder) throws
    where Form.Element == Element {
        self = Set(try [Element](form, from: decoder))
    }
}

extension Dictionary: ValueList where Key: Codable {
    /// The type of the values.
    public typealias ListElement = Value

    public func encode<Form: EntityCoding.ListForm>(_ form: Form.Type, to encoder: any Encoder) throws
    where Form.Element == Value {
        try mapValues { CodedElement<Form>(element: $0) }.encode(to: encoder)
    }
    /// Creates the dictionary from values in a form.
    public init<Form: EntityCoding.ListForm>(_ form: Form.Type, from decoder: any Decoder) throws
    where Form.Element == Value {
        self = try [Key: CodedElement<Form>](from: decoder).mapValues(\.element)
    }
}

/// One element, coded as the content of its column.
private struct CodedElement<Form: EntityCoding.ListForm>: Codable {
    let element: Form.Element

    init(element: Form.Element) { self.element = element }

    func encode(to encoder: any Encoder) throws {
        let stored = Form.stored(element)
        // The conversions of a user's type may not be inverse to each other.
        if Form.element(stored) == nil {
            throw EncodingError.invalidValue(
                element,
                .init(codingPath: encoder.codingPath, debugDescription: "\(stored.brief) is no \(Form.Element.self)"))
        }
        var container = encoder.singleValueContainer()
        switch stored {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .unsigned(let value): try container.encode(value)
        case .double(let value), .date(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .blob(let value): try container.encode(Data(value))
        case .uuid(let high, let low): try container.encode(UUID(high: high, low: low))
        }
    }

    init(from decoder: any Decoder) throws {
        let stored = try CodedElement.stored(try decoder.singleValueContainer())
        guard let element = Form.element(stored) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "\(stored.brief) is no \(Form.Element.self)"))
        }
        self.element = element
    }

    private static func stored(_ container: any SingleValueDecodingContainer) throws -> StoredValue {
        if container.decodeNil() { return .null }
        switch Form.columnType {
        case .bool: return .bool(try container.decode(Bool.self))
        case .integer, .reference: return .integer(try container.decode(Int64.self))
        case .unsigned: return .unsignedInteger(try container.decode(UInt64.self))
        case .double: return .double(try container.decode(Double.self))
        case .date: return .date(try container.decode(Double.self))
        case .text: return .text(try container.decode(String.self))
        case .blob, .keys: return .blob([UInt8](try container.decode(Data.self)))
        case .uuid: return try container.decode(UUID.self).stored
        }
    }
}

extension EntityCoding {
    /// The codec of collections of values that are not `Codable`, which are stored as JSON text.
    public enum ListCodec<Property: ValueList & Sendable, Form: ListForm>: ValueSlotCodec
    where Form.Element == Property.ListElement {
        private struct Coded: Codable, Sendable {
            let list: Property

            init(_ list: Property) { self.list = list }
            init(from decoder: any Decoder) throws { list = try Property(Form.self, from: decoder) }
            func encode(to encoder: any Encoder) throws { try list.encode(Form.self, to: encoder) }
        }

        /// The column type: text.
        public static var columnType: ColumnType { .text }
        /// True: the column holds JSON.
        public static var isJSON: Bool { true }
        /// Returns the list as JSON text; NULL if it cannot be encoded.
        public static func stored(_ value: Property) -> StoredValue { JSONCodec<Coded>.stored(Coded(value)) }
        /// Returns the list of a JSON text; nil if it cannot be decoded.
        public static func value(_ stored: StoredValue) -> Property? { JSONCodec<Coded>.value(stored)?.list }
        /// Returns the reason why the list cannot be encoded; nil if it can.
        public static func fault(storing value: Property) -> String? { JSONCodec<Coded>.fault(storing: Coded(value)) }
        /// Decodes the list from a row.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            try JSONCodec<Coded>.read(row, position).list
        }
        /// Encodes the list to a row.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            try JSONCodec<Coded>.write(Coded(value), &writer, position)
        }
    }
}
