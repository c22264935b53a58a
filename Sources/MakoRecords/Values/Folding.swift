/// Case folding: each Unicode scalar is replaced by its lower case, independent of language and context.
///
/// Part of the file format, because NOCASE indexes store it; ``LowerCase`` has the letters.
enum Folding {
    /// Calls `body` with the bytes of the case-folded text. Bytes that are not UTF-8 are folded as U+FFFD.
    @inline(__always)
    static func forEachByte(of content: UnsafeRawBufferPointer, _ body: (UInt8) -> Void) {
        var index = 0
        while index < content.count, content[index] < 0x80 {
            body(lowercased(content[index]))
            index += 1
        }
        if index == content.count { return }
        for scalar in String(decoding: content[index...], as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                body(lowercased(UInt8(truncatingIfNeeded: scalar.value)))
            } else {
                for byte in LowerCase.scalar(of: scalar).utf8 { body(byte) }
                if scalar == LowerCase.dottedCapitalI { for byte in LowerCase.dotAbove.utf8 { body(byte) } }
            }
        }
    }

    static func folded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var text = text
        text.withUTF8 { forEachByte(of: .init($0)) { bytes.append($0) } }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Compares two texts without case.
    static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        var index = 0
        while index < a.count, index < b.count, a[index] < 0x80, b[index] < 0x80 {
            let (first, second) = (lowercased(a[index]), lowercased(b[index]))
            if first != second { return first < second ? -1 : 1 }
            index += 1
        }
        var rests: ([UInt8], [UInt8]) = ([], [])
        forEachByte(of: UnsafeRawBufferPointer(rebasing: a[index...])) { rests.0.append($0) }
        forEachByte(of: UnsafeRawBufferPointer(rebasing: b[index...])) { rests.1.append($0) }
        return KeyOrder.compareKeys(rests.0, rests.1)
    }

    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 65 && byte <= 90 ? byte | 0x20 : byte
    }
}
