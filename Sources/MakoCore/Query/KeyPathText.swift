extension AnyKeyPath {
    /// The key path for messages. Swift prints an unnamed component by its address or offset, which differ from run to
    /// run: `\Level.<computed 0x000055d0 (Int)>` becomes `\Level.<computed Int>`.
    var text: String {
        var result = ""
        for part in "\(self)".split(separator: " ", omittingEmptySubsequences: false) {
            let isPlace = part.hasPrefix("0x") || !part.isEmpty && part.allSatisfy(\.isNumber)
            if isPlace { continue }
            if part.hasPrefix("("), part.hasSuffix(")>") {
                result += " \(part.dropFirst().dropLast(2))>"
            } else {
                result += (result.isEmpty ? "" : " ") + part
            }
        }
        return result
    }
}
