import CPlatform
import Foundation
import MakoStorage

/// JSON in columns. The encoder refuses values that the decoder cannot read.
enum JSONText {
    /// The limit of nested arrays and objects, which is that of Foundation.
    static let depthLimit = 511
    /// The stack that must be free before a nested value is encoded.
    static let reservedStack: UInt64 = 96 << 10
    /// The most stack that decoding needs for each level.
    private static let stackOfLevel: UInt64 = 16 << 10

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return encoder
    }

    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return decoder
    }

    static func text<T: Encodable>(of value: T) throws(ValueFault) -> String {
        if let set = value as? any UnorderedJSON { return try set.orderedText() }
        do { return try encoded(value) } catch EncodingRun.Fault.shortStack {} catch { throw ValueFault(error) }
        return try JSONText.onLargeStack { try encoded(value) }
    }

    private static func encoded<T: Encodable>(_ value: T) throws -> String {
        if let url = value as? URL, url.absoluteString.isEmpty { throw EncodingRun.Fault.emptyURL }
        if T.self == URL.self || T.self is any FlatJSON.Type {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let run = EncodingRun()
        let data = Result { try encoder.encode(NestedJSON(value, 1, run)) }
        // The value's own code may have caught the error.
        if let fault = run.fault { throw fault }
        return String(decoding: try data.get(), as: UTF8.self)
    }

    static func value<T: Decodable>(
        _ type: T.Type, of text: String, with decoder: JSONDecoder = JSONText.decoder
    ) throws(ValueFault) -> T {
        let depth = T.self is any FlatJSON.Type ? 0 : depth(of: text)
        if depth > depthLimit { throw ValueFault(EncodingRun.Fault.tooDeep) }
        if mako_stack_room() > reservedStack + UInt64(depth) * stackOfLevel {
            do { return try decoder.decode(type, from: Data(text.utf8)) } catch { throw ValueFault(error) }
        }
        return try JSONText.onLargeStack { try decoder.decode(type, from: Data(text.utf8)) }
    }

    /// Sorts the members of a set by their texts. The order of a set differs in each process: an unchanged set would be
    /// another text, and saving it an update.
    static func ordered<C: Collection>(_ members: C) -> [C.Element] where C.Element: Encodable {
        if members.count < 2 { return Array(members) }
        // A member that cannot be encoded makes the encoding of the list fail, whose error says where it is.
        let texts = members.map { member in (text: (try? text(of: member)) ?? "", member: member) }
        return texts.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }.map(\.member)
    }

    private static func onLargeStack<R>(_ body: () throws -> R) throws(ValueFault) -> R {
        do { return try StackGuard.onLargeStack(body) { throw EncodingRun.Fault.shortStack } } catch {
            throw ValueFault(error)
        }
    }

    /// The nesting depth of the arrays and objects of a text; 0 for a text that is too short to be deep.
    private static func depth(of text: String) -> Int {
        if text.utf8.count < 64 { return 0 }
        var (depth, deepest) = (0, 0)
        var isInString = false
        var isEscaped = false
        for byte in text.utf8 {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                if depth > deepest { deepest = depth }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }
}

// MARK: - Sets

/// A collection without an order, whose text has one.
private protocol UnorderedJSON {
    func orderedText() throws(ValueFault) -> String
}

extension Set: UnorderedJSON where Element: Encodable {
    fileprivate func orderedText() throws(ValueFault) -> String { try JSONText.text(of: JSONText.ordered(self)) }
}

// MARK: - Values within values

/// A type whose values nest only values of such types: `JSONEncoder` encodes them directly, because their type limits
/// the depth.
protocol FlatJSON {}

extension Bool: FlatJSON {}
extension Int: FlatJSON {}
extension Int8: FlatJSON {}
extension Int16: FlatJSON {}
extension Int32: FlatJSON {}
extension Int64: FlatJSON {}
extension UInt: FlatJSON {}
extension UInt8: FlatJSON {}
extension UInt16: FlatJSON {}
extension UInt32: FlatJSON {}
extension UInt64: FlatJSON {}
extension Float: FlatJSON {}
extension Double: FlatJSON {}
extension String: FlatJSON {}
extension Date: FlatJSON {}
extension Data: FlatJSON {}
extension UUID: FlatJSON {}
extension Array: FlatJSON where Element: FlatJSON {}
extension Set: FlatJSON where Element: FlatJSON {}
extension Dictionary: FlatJSON where Key: FlatJSON, Value: FlatJSON {}
extension Optional: FlatJSON where Wrapped: FlatJSON {}
