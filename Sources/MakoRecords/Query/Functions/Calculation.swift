/// Arithmetic and text functions over operands.
enum Calculation {
    /// Returns the result of an arithmetic operation. It is NULL if an operand is, and for a division by zero. Integers
    /// stay integers, unless the result is beyond 64 bits, which makes it a double.
    static func result(_ operation: ArithmeticOperator, _ left: Operand, _ right: Operand) -> Operand {
        if left.isNull || right.isNull { return .null }
        switch (left, right) {
        case (.date(let a), .date(let b)):
            // The binder accepts no other operation on two dates.
            return .double(a - b)
        case (.date(let seconds), _):
            guard let number = right.asDouble else { return .null }
            return .date(operation == .subtract ? seconds - number : seconds + number)
        case (_, .date(let seconds)):
            guard let number = left.asDouble else { return .null }
            return .date(number + seconds)
        default: break
        }
        if let a = left.asWhole, let b = right.asWhole { return whole(operation, a, b) }
        guard let a = left.asDouble, let b = right.asDouble else { return .null }
        switch operation {
        case .add: return .double(a + b)
        case .subtract: return .double(a - b)
        case .multiply: return .double(a * b)
        case .divide: return b == 0 ? .null : .double(a / b)
        case .remainder: return b == 0 ? .null : .double(a.truncatingRemainder(dividingBy: b))
        case .concatenate: return .null
        }
    }

    /// Two 64-bit numbers never overflow 128 bits.
    private static func whole(_ operation: ArithmeticOperator, _ a: Int128, _ b: Int128) -> Operand {
        switch operation {
        case .add: Operand(whole: a + b)
        case .subtract: Operand(whole: a - b)
        case .multiply:
            // The largest product of two unsigned numbers is beyond a signed 128-bit number.
            if case let (product, overflow) = a.multipliedReportingOverflow(by: b), !overflow {
                Operand(whole: product)
            } else {
                .double(Double(a) * Double(b))
            }
        case .divide: b == 0 ? .null : Operand(whole: a / b)
        case .remainder: b == 0 ? .null : Operand(whole: a % b)
        case .concatenate: .null
        }
    }

    static func rounded(_ operand: Operand, _ digits: Operand) -> Operand {
        guard let number = operand.asDouble, case .integer(let digits) = digits else { return .null }
        // Doubles beyond 2^52 have no fraction.
        let isWhole = !(number.magnitude < 0x1p52)
        if digits <= 0 {
            return .double(isWhole ? number : (number + (number < 0 ? -0.5 : 0.5)).rounded(.towardZero) + 0)
        }
        if digits <= 15 {
            var scale = 1.0
            for _ in 0..<digits { scale *= 10 }
            let scaled = number * scale
            let half = (scaled - scaled.rounded(.down) - 0.5).magnitude
            // Not close to a half: the rounded product is that of the decimal.
            if scaled.magnitude < 0x1p49, half > 1e-3 { return .double(scaled.rounded() / scale) }
        }
        return .double(DecimalDigits(number)?.rounded(Int(min(digits, 30))) ?? number)
    }

    /// Returns the number of Unicode scalars.
    static func scalars(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        var count: Int64 = 0
        for byte in bytes where byte & 0xC0 != 0x80 { count &+= 1 }
        return count
    }

    /// Returns the number of characters as Swift counts them. In ASCII text without CR each byte is one.
    static func characters(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        if bytes.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) { return Int64(bytes.count) }
        return Int64(String(decoding: bytes, as: UTF8.self).count)
    }

    static func trimmed(
        _ bytes: UnsafeRawBufferPointer, atStart: Bool = true, atEnd: Bool = true
    ) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        if atStart { while start < end, bytes[start] == 32 { start += 1 } }
        if atEnd { while end > start, bytes[end - 1] == 32 { end -= 1 } }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    /// Returns the position of a text in another, in Unicode scalars from 1, or 0. The empty text is at 1.
    static func place(of part: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer) -> Int64 {
        guard let found = offset(of: part, in: bytes, from: 0) else { return 0 }
        return scalars(UnsafeRawBufferPointer(rebasing: bytes[..<found])) + 1
    }

    /// Returns the offset of some bytes in others, from a start on.
    static func offset(of part: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let first = part.first else { return start }
        var place = start
        while place + part.count <= bytes.count {
            if bytes[place] == first {
                let candidate = UnsafeRawBufferPointer(rebasing: bytes[place..<place + part.count])
                if KeyOrder.compareRaw(candidate, part) == 0 { return place }
            }
            place += 1
        }
        return nil
    }

    /// Returns `substr`: from the `start`-th scalar, counted from 1, or from the end if it is negative. As in SQLite, a
    /// start of 0 is a position before the first scalar, from which the length counts, and a negative length selects
    /// the scalars before the start.
    static func part(of bytes: UnsafeRawBufferPointer, from start: Int64, length: Int64) -> UnsafeRawBufferPointer {
        let count = scalars(bytes)
        // Clamped, so that no sum overflows.
        let begin = start < 0 ? max(start, -1 << 61) + count : min(start, 1 << 61) - 1
        let length = min(max(length, -1 << 61), 1 << 61)
        // Positions before the first scalar count for the length: one of them if the start counts from the beginning,
        // any number if it counts from the end.
        let (start, end) = length < 0 ? (max(begin, 0) + length, max(begin, 0)) : (begin, begin + length)
        let first = min(max(start, 0), count)
        let last = max(first, min(end, count))
        var scalar: Int64 = -1
        var low = bytes.count
        var high = bytes.count
        for (index, byte) in bytes.enumerated() where byte & 0xC0 != 0x80 {
            scalar += 1
            if scalar == first { low = index }
            if scalar == last {
                high = index
                break
            }
        }
        return UnsafeRawBufferPointer(rebasing: bytes[min(low, high)..<high])
    }
}
