import Foundation
import MakoRecords

/// A stored value of a keyed store: text that is readable for people and programs, or bytes.
struct StoreContent: Sendable {
    /// The format of the text. The raw values are part of the file format.
    enum StoredForm: String, Sendable {
        case null, bool, integer, unsigned, double, text, blob, date, uuid, json
    }

    /// The name of the value's type, with the types that it is nested in and without its module; for an optional, that
    /// of the wrapped type. Earlier versions stored the last part only.
    let type: String
    let form: StoredForm
    let text: String?
    let blob: [UInt8]?

    var formName: String { form.rawValue }
    var size: Int { text?.utf8.count ?? blob?.count ?? 0 }

    init(type: String, form: StoredForm, text: String?, blob: [UInt8]?) {
        self.type = type
        self.form = form
        self.text = text
        self.blob = blob
    }

    /// Encodes a value.
    ///
    /// - Throws: `MakoError.unstorableValue` for a value that could not be read again.
    init<T: StorableValue>(_ value: T, for key: String, in store: String) throws(MakoError) {
        if let reason = EntityCoding.StorableCodec<T>.fault(storing: value) {
            throw .unstorableValue(entity: store, key: nil, property: StoreContent.quoted(key), reason: reason)
        }
        self.init(type: StoreContent.name(of: T.self), stored: value.stored)
    }

    /// Encodes a value as JSON, unless it fits a column.
    init<T: Codable & Sendable>(encoding value: T, for key: String, in store: String) throws(MakoError) {
        let type = StoreContent.name(of: T.self)
        // The stored form must not depend on the conformances that the caller's generic context knows.
        if let storable = value as? any StorableValue {
            self = try StoreContent(storable, for: key, in: store)
            return
        }
        let text: String
        do throws(ValueFault) { text = try JSONText.text(of: value) } catch {
            throw .unstorableValue(entity: store, key: nil, property: StoreContent.quoted(key), reason: error.reason)
        }
        self.init(type: type, form: text == "null" ? .null : .json, text: text == "null" ? nil : text, blob: nil)
    }

    private init(type: String, stored: StoredValue) {
        let form: StoredForm
        var text: String?
        var blob: [UInt8]?
        switch stored {
        case .null: form = .null
        case .bool(let flag): (form, text) = (.bool, flag ? "true" : "false")
        case .integer(let number): (form, text) = (.integer, "\(number)")
        case .unsigned(let number): (form, text) = (.unsigned, "\(number)")
        case .double(let number): (form, text) = (.double, "\(number)")
        case .text(let content): (form, text) = (.text, content)
        case .blob(let bytes): (form, blob) = (.blob, bytes)
        case .date(let seconds): (form, text) = (.date, "\(seconds)")
        case .uuid(let high, let low): (form, text) = (.uuid, UUID(high: high, low: low).uuidString)
        }
        self.init(type: type, form: form, text: text, blob: blob)
    }

    /// The column value; nil for JSON, and for text that does not match the form.
    private var stored: StoredValue? {
        switch form {
        case .null: .null
        case .bool: text.flatMap { Bool($0) }.map { .bool($0) }
        case .integer: text.flatMap { Int64($0) }.map { .integer($0) }
        case .unsigned: text.flatMap { UInt64($0) }.map { .unsignedInteger($0) }
        case .double: text.flatMap { Double($0) }.map { .double($0) }
        case .text: text.map { .text($0) }
        case .blob: blob.map { .blob($0) }
        case .date: text.flatMap { Double($0) }.map { .date($0) }
        case .uuid: text.flatMap { UUID(uuidString: $0) }?.stored
        case .json: nil
        }
    }

    // MARK: - Reading

    /// Decodes the value; nil when it is not of this type.
    ///
    /// - Parameter converting: whether to convert a value stored as another type.
    func value<T: StorableValue>(_ type: T.Type, converting: Bool) -> T? {
        guard converting || isStored(as: type) else { return nil }
        if let stored { return T(stored: stored) }
        // The value was stored as JSON before its type became `StorableValue`.
        guard let decodable = type as? any (Codable & Sendable).Type else { return nil }
        return decoded(decodable, as: type)
    }

    func value<T: Codable & Sendable>(_ type: T.Type, converting: Bool) -> T? {
        if let storable = type as? any StorableValue.Type { return value(storable, as: type, converting) }
        guard converting || isStored(as: type) else { return nil }
        return decoded(type, as: type)
    }

    private func isStored<T>(as type: T.Type) -> Bool {
        form == .null || StoreTypeNames.matches(self.type, type)
    }

    private func value<S: StorableValue, T>(_ storable: S.Type, as type: T.Type, _ converting: Bool) -> T? {
        value(storable, converting: converting).flatMap { Same(value: $0).value(as: type) }
    }

    private func decoded<D: Codable & Sendable, T>(_ decodable: D.Type, as type: T.Type) -> T? {
        guard form == .json || form == .null else { return nil }
        return EntityCoding.JSONCodec<D>.value(.text(text ?? "null")).flatMap { Same(value: $0).value(as: type) }
    }

    /// A value whose type has two static names. Casting the value itself would unwrap optionals.
    private struct Same<S> {
        let value: S
        func value<T>(as type: T.Type) -> T? { (self as? Same<T>)?.value }
    }

    // MARK: - Names

    /// The stored type's name, for messages.
    var typeName: String { form == .null ? "nil" : type }

    static func name(of type: Any.Type) -> String { StoreTypeNames.qualified(type) }

    /// A key for a message, truncated to 60 characters.
    static func quoted(_ key: String) -> String { key.count > 60 ? "'\(key.prefix(60))…'" : "'\(key)'" }
}
