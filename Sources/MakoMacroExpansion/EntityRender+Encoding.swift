extension EntityRender {
    /// The members that encode sets of properties.
    ///
    /// - Parameter writes: the statement of each column.
    func encoders(_ writes: [String]) -> [String] {
        let word = "encode(into writer: inout EntityCoding.RowWriter, properties: UInt64) throws(MakoError)"
        let set =
            "_$encode(into writer: inout EntityCoding.RowWriter, properties: EntityCoding.PropertySet) throws(MakoError)"
        let isLazy = source.isClass && !source.lazyColumns.isEmpty
        if source.isNarrow {
            let decoding = isLazy ? ["self._$decode(properties)"] : []
            return [block("\(access)func \(word)", decoding + tests(writes, of: "properties"))]
        }
        let decoding = isLazy ? ["self._$decode(properties.pendingBits)"] : []
        let forwarding =
            "try self._$encode(into: &writer, properties: EntityCoding.PropertySet(firstWord: properties))"
        let forwarder = source.isSubclass ? [] : [block("\(access)func \(word)", [forwarding])]
        if source.isInHierarchy {
            let inherited =
                source.isSubclass && !source.ignoresSuperclass
                ? ["try super._$encode(into: &writer, properties: properties)"] : []
            let tests = writes.enumerated().map { "if properties.contains(\(position($0))) { \($1) }" }
            return forwarder + [block("\(member)func \(set)", inherited + decoding + tests)]
        }
        var lines = decoding
        for number in 0...(writes.count - 1) / 64 {
            // Most sets have properties of a few words.
            let part = Array(writes.dropFirst(64 * number).prefix(64))
            lines.append("let word\(number) = properties.word(\(number))")
            lines.append("if word\(number) != 0 {")
            lines += tests(part, of: "word\(number)").map { "    " + $0 } + ["}"]
        }
        return forwarder + [block("\(access)func \(set)", lines)]
    }

    private func tests(_ writes: [String], of word: String) -> [String] {
        writes.enumerated().map { "if \(word) & (1 << \($0)) != 0 { \($1) }" }
    }

    /// The bits of lazy columns, as an expression; see `EntitySource.isLazy`. Behind the columns of superclasses, those
    /// beyond the 64th are shifted out.
    func pendingBits(of columns: [Int]) -> String {
        let places = Set(columns.map { min(63, $0) }).sorted()
        // The type checker is slow with long expressions.
        if places.count > 8 {
            let bits = "0x" + String(places.reduce(UInt64(0)) { $0 | 1 << UInt64($1) }, radix: 16)
            return source.base.map { "(\(bits) << \($0))" } ?? bits
        }
        return places.map { "(1 << \(position($0)))" }.joined(separator: " | ")
    }
}
