import MakoStorage

/// Logged operations read as `docs/format.md` describes them, and applied to sorted maps, without code of the engine.
package struct PlainOperations {
    package private(set) var model: ModelStore
    /// The names of trees by their numbers.
    package private(set) var names: [UInt32: String]
    /// Whether pages were named for an unknown value.
    package private(set) var metUnknownList = false
    private var rest: ArraySlice<UInt8> = []
    /// Reads the value of which a list names the pages.
    private let named: ([UInt8]) -> [UInt8]?

    package init(_ model: ModelStore, names: [UInt32: String], named: @escaping ([UInt8]) -> [UInt8]? = { _ in nil }) {
        self.model = model
        self.names = names
        self.named = named
    }

    /// Applies the payload of a commit. False: not all of it could be read.
    package mutating func apply(_ payload: ArraySlice<UInt8>) -> Bool {
        rest = payload
        while !rest.isEmpty {
            if !applyNext() { return false }
        }
        return true
    }

    private mutating func applyNext() -> Bool {
        guard let kind = number(UInt8.self), let tree = number(UInt32.self) else { return false }
        if kind == 5 { return createTree(tree) }
        if kind == 12 { return renameTree(tree) }
        guard let name = names[tree] else { return false }
        switch kind {
        case 1, 2:
            guard let key = key(isInteger: kind == 1), let value = bytes(number(UInt32.self).map(Int.init)) else {
                return false
            }
            model.put(value, for: key, in: name)
        case 3, 4:
            guard let key = key(isInteger: kind == 3) else { return false }
            _ = model.delete(key, in: name)
        case 6:
            model.dropTree(name)
            names[tree] = nil
        case 7:
            guard let first = number(UInt64.self), let last = number(UInt64.self), first <= last else { return false }
            _ = model.delete(first...last, in: name)
        case 8: model.deleteAll(in: name)
        case 9, 10:
            guard let key = key(isInteger: kind == 9), let list = bytes(number(UInt32.self).map(Int.init)) else {
                return false
            }
            guard let value = named(list) else {
                metUnknownList = true
                return false
            }
            model.put(value, for: key, in: name)
        case 11:
            guard let first = bytes(number(UInt16.self).map(Int.init)), let length = number(UInt16.self) else {
                return false
            }
            let end = length == 65535 ? nil : bytes(Int(length))
            guard length == 65535 || end != nil, end.map({ !$0.lexicographicallyPrecedes(first) }) ?? true else {
                return false
            }
            _ = model.delete(from: first, to: end, in: name)
        default: return false
        }
        return true
    }

    private mutating func createTree(_ tree: UInt32) -> Bool {
        guard let kind = number(UInt8.self).flatMap({ KeyKind(rawValue: $0 & 127) }),
            let name = bytes(number(UInt16.self).map(Int.init)),
            names[tree] == nil
        else { return false }
        let text = String(decoding: name, as: UTF8.self)
        guard model.trees[text] == nil else { return false }
        names[tree] = text
        model.createTree(text, kind)
        return true
    }

    private mutating func renameTree(_ tree: UInt32) -> Bool {
        guard let old = names[tree], let name = bytes(number(UInt16.self).map(Int.init)) else { return false }
        let text = String(decoding: name, as: UTF8.self)
        guard text == old || model.trees[text] == nil else { return false }
        names[tree] = text
        model.renameTree(old, to: text)
        return true
    }

    private mutating func key(isInteger: Bool) -> ModelKey? {
        isInteger
            ? number(UInt64.self).map { .integer($0) } : bytes(number(UInt16.self).map(Int.init)).map { .bytes($0) }
    }

    private mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        bytes(MemoryLayout<Number>.size)?.reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }

    private mutating func bytes(_ count: Int?) -> [UInt8]? {
        guard let count, count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
