/// A compiled LIKE or GLOB pattern, matched against UTF-8 bytes.
struct TextPattern: Sendable, Hashable {
    private enum Element: Sendable, Hashable {
        case scalar(UInt32)
        case one
        case many
        /// One scalar inside, or outside, some ranges.
        case set(isNegated: Bool, first: Int, count: Int)
    }

    private var elements: [Element] = []
    private var ranges: [ClosedRange<UInt32>] = []
    private let ignoresCase: Bool
    /// The literal prefix of every match.
    private(set) var prefix = ""
    /// Whether every text with the prefix matches.
    private(set) var isPrefixOnly = false
    /// The bytes of a pattern that is one literal with or without a wildcard on each side, for which a substring search
    /// suffices.
    private var run: [UInt8] = []
    private var isAtStart = false
    private var isAtEnd = false

    init(like pattern: String, escape: Unicode.Scalar?) {
        ignoresCase = true
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                elements.append(.scalar(TextPattern.folded(scalar.value)))
                isEscaped = false
            } else if scalar == escape {
                isEscaped = true
            } else if scalar == "%" {
                appendMany()
            } else if scalar == "_" {
                elements.append(.one)
            } else {
                elements.append(.scalar(TextPattern.folded(scalar.value)))
            }
        }
        // A trailing escape character is literal.
        if isEscaped, let escape { elements.append(.scalar(TextPattern.folded(escape.value))) }
        findPrefix()
    }

    init(glob pattern: String) {
        ignoresCase = false
        let scalars = Array(pattern.unicodeScalars)
        var index = 0
        while index < scalars.count {
            switch scalars[index] {
            case "*": appendMany()
            case "?": elements.append(.one)
            case "[":
                if let end = appendSet(scalars, index + 1) {
                    index = end
                } else {
                    elements.append(.scalar(scalars[index].value))
                }
            default: elements.append(.scalar(scalars[index].value))
            }
            index += 1
        }
        findPrefix()
    }

    private mutating func appendMany() {
        if elements.last != .many { elements.append(.many) }
    }

    /// Parses a set up to its bracket; returns the bracket's index, or `nil` if there is none.
    private mutating func appendSet(_ scalars: [Unicode.Scalar], _ start: Int) -> Int? {
        var index = start
        var isNegated = false
        if index < scalars.count, scalars[index] == "^" || scalars[index] == "!" {
            isNegated = true
            index += 1
        }
        var found: [ClosedRange<UInt32>] = []
        let first = index
        while index < scalars.count {
            if scalars[index] == "]", index > first {
                elements.append(.set(isNegated: isNegated, first: ranges.count, count: found.count))
                ranges += found
                return index
            }
            let low = scalars[index].value
            if index + 2 < scalars.count, scalars[index + 1] == "-", scalars[index + 2] != "]" {
                let high = scalars[index + 2].value
                if low <= high { found.append(low...high) }
                index += 3
            } else {
                found.append(low...low)
                index += 1
            }
        }
        return nil
    }

    private mutating func findPrefix() {
        for element in elements {
            guard case .scalar(let value) = element, let scalar = Unicode.Scalar(value) else { break }
            prefix.unicodeScalars.append(scalar)
        }
        isPrefixOnly = elements.count == prefix.unicodeScalars.count + 1 && elements.last == .many
        findRun()
    }

    private mutating func findRun() {
        var text = ""
        for (place, element) in elements.enumerated() {
            switch element {
            // U+FFFD matches invalid bytes, which only a scan by scalars finds.
            case .scalar(let value) where value != 0xFFFD:
                guard let scalar = Unicode.Scalar(value) else { return }
                text.unicodeScalars.append(scalar)
            case .many where place == 0 || place == elements.count - 1: continue
            default: return
            }
        }
        if text.isEmpty { return }
        run = Array(text.utf8)
        isAtStart = elements.first != .many
        isAtEnd = elements.last != .many
    }

    private static func folded(_ value: UInt32) -> UInt32 { value >= 65 && value <= 90 ? value | 0x20 : value }

    /// Returns the substring search, if the pattern is a single literal.
    ///
    /// - Parameter keep: copies bytes to memory that outlives the search.
    func search(_ keep: ([UInt8]) -> UnsafeRawBufferPointer) -> RunSearch? {
        run.isEmpty ? nil : RunSearch(keep(run), ignoresCase: ignoresCase, isAtStart: isAtStart, isAtEnd: isAtEnd)
    }

    /// Returns whether the text matches. Allocates nothing.
    ///
    /// - Complexity: at most the product of the lengths.
    func matches(_ text: UnsafeRawBufferPointer) -> Bool {
        if !run.isEmpty {
            return run.withUnsafeBytes {
                RunSearch($0, ignoresCase: ignoresCase, isAtStart: isAtStart, isAtEnd: isAtEnd).matches(text)
            }
        }
        // Borrows the arrays: a copy would be retained for each text.
        return elements.withUnsafeBufferPointer { elements in
            ranges.withUnsafeBufferPointer { ranges in match(text, elements, ranges) }
        }
    }

    private func match(
        _ text: UnsafeRawBufferPointer, _ elements: UnsafeBufferPointer<Element>,
        _ ranges: UnsafeBufferPointer<ClosedRange<UInt32>>
    ) -> Bool {
        var place = 0
        var element = 0
        // After the last wildcard: where to resume if the rest does not match.
        var resumeElement = -1
        var resumePlace = 0
        while place < text.count {
            if element < elements.count, case .many = elements[element] {
                resumeElement = element + 1
                resumePlace = place
                element += 1
                continue
            }
            let (scalar, next) = TextPattern.scalar(text, place)
            if element < elements.count, accepts(elements[element], scalar, ranges) {
                place = next
                element += 1
            } else if resumeElement >= 0 {
                resumePlace = TextPattern.scalar(text, resumePlace).next
                place = resumePlace
                element = resumeElement
            } else {
                return false
            }
        }
        while element < elements.count, case .many = elements[element] { element += 1 }
        return element == elements.count
    }

    @inline(__always)
    private func accepts(_ element: Element, _ scalar: UInt32, _ ranges: UnsafeBufferPointer<ClosedRange<UInt32>>)
        -> Bool
    {
        switch element {
        case .scalar(let wanted): return wanted == (ignoresCase ? TextPattern.folded(scalar) : scalar)
        case .one: return true
        case .many: return false
        case .set(let isNegated, let first, let count):
            for index in first..<first + count where ranges[index].contains(scalar) { return !isNegated }
            return isNegated
        }
    }

    /// Returns the scalar at a position and the next position. An invalid byte counts as U+FFFD.
    @inline(__always)
    private static func scalar(_ text: UnsafeRawBufferPointer, _ place: Int) -> (value: UInt32, next: Int) {
        let first = UInt32(text[place])
        if first < 0x80 { return (first, place + 1) }
        let length = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : (first >= 0xC0 ? 2 : 1))
        guard length > 1, place + length <= text.count else { return (0xFFFD, place + 1) }
        var value = first & (0x7F >> UInt32(length))
        for offset in 1..<length {
            let byte = UInt32(text[place + offset])
            guard byte & 0xC0 == 0x80 else { return (0xFFFD, place + 1) }
            value = value << 6 | byte & 0x3F
        }
        return (value, place + length)
    }
}
