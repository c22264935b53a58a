import MakoStorage
import MakoTestSupport

/// Logged operations read once more, slowly, and applied to sorted maps.
struct PlainOperations {
    private(set) var model: ModelStore
    private var rest: ArraySlice<UInt8>
    private var names: [UInt32: String] = [1: "numbers", 2: "words"]

    init(_ model: ModelStore, rest: ArraySlice<UInt8>) {
        self.model = model
        self.rest = rest
    }

    /// Whether everything could be read.
    mutating func applyAll() -> Bool {
        while !rest.isEmpty {
            if !applyNext() { return false }
        }
        return true
    }

    private mutating func applyNext() -> Bool {
        guard let kind = number(UInt8.self), let tree = number(UInt32.self) else { return false }
        if kind == 5 { return createTree(tree) }
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
        default: return false
        }
        return true
    }

    private mutating func createTree(_ tree: UInt32) -> Bool {
        guard let kind = number(UInt8.self).flatMap(KeyKind.init), let name = bytes(number(UInt16.self).map(Int.init)),
            names[tree] == nil
        else { return false }
        let text = String(decoding: name, as: UTF8.self)
        guard model.trees[text] == nil else { return false }
        names[tree] = text
        model.createTree(text, kind)
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
