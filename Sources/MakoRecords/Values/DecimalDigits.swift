/// The shortest decimal that parses as a double, for rounding as users expect: 1.005 rounds to 1.01 with two places,
/// although the double is slightly less.
struct DecimalDigits {
    private let isNegative: Bool
    private var digits: [UInt8]
    /// The number of digits before the point.
    private var point: Int

    /// - Returns: `nil` if the number is not finite.
    init?(_ number: Double) {
        guard number.isFinite else { return nil }
        isNegative = number.sign == .minus
        digits = []
        point = 0
        var exponent = 0
        var isBehindPoint = false
        let text = Array("\(number.magnitude)".utf8)
        for (place, byte) in text.enumerated() {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits.append(byte - UInt8(ascii: "0"))
                if !isBehindPoint { point += 1 }
            case UInt8(ascii: "."): isBehindPoint = true
            default:
                exponent = Int(String(decoding: text[(place + 1)...], as: UTF8.self)) ?? 0
            }
            if byte == UInt8(ascii: "e") { break }
        }
        point += exponent
    }

    /// Returns the number with this many places, halves rounded away from zero.
    func rounded(_ places: Int) -> Double? {
        let kept = point + places
        if kept >= digits.count { return value(digits, point) }
        if kept < 0 { return isNegative ? -0.0 : 0 }
        var result = Array(digits[..<kept])
        var point = point
        if digits[kept] >= 5 {
            var place = kept - 1
            while place >= 0, result[place] == 9 {
                result[place] = 0
                place -= 1
            }
            if place >= 0 {
                result[place] += 1
            } else {
                result.insert(1, at: 0)
                point += 1
            }
        }
        return value(result, point)
    }

    /// Returns at most this many significant digits, halves rounded away from zero, without trailing zeros; and the
    /// position of the point.
    func significant(_ count: Int) -> (digits: [UInt8], point: Int) {
        let first = digits.firstIndex { $0 != 0 } ?? 0
        var result = Array(digits[first...])
        var point = point - first
        if result.count > count {
            let isUp = result[count] >= 5
            result.removeLast(result.count - count)
            var place = count - 1
            while isUp, place >= 0, result[place] == 9 {
                result[place] = 0
                place -= 1
            }
            if isUp, place >= 0 { result[place] += 1 }
            if isUp, place < 0 {
                result.insert(1, at: 0)
                point += 1
            }
        }
        while result.count > 1, result.last == 0 { result.removeLast() }
        return (result, point)
    }

    private func value(_ digits: [UInt8], _ point: Int) -> Double? {
        let text = digits.map { String($0) }.joined()
        return Double((isNegative ? "-" : "") + "0." + text + "e\(point)")
    }
}
