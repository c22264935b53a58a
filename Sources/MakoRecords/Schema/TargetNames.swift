/// Resolves stored names of target tables.
struct TargetNames {
    private let names: Set<String>
    /// The names by their case-folded form; `nil` if several tables have it. Made for the first target that no name
    /// matches exactly.
    private var folded: [String: String?]?

    init(_ names: [String]) { self.names = Set(names) }

    /// Returns the table with exactly this name, or else the one whose name differs in case only; the argument if there
    /// is none or several.
    mutating func name(of target: String) -> String {
        if names.contains(target) || target == AnyReference.anyTable { return target }
        var known: [String: String?] = folded ?? [:]
        if folded == nil {
            for name in names {
                let key = Folding.folded(name)
                known.updateValue(known[key] == nil ? name : nil, forKey: key)
            }
            folded = known
        }
        return known[Folding.folded(target)].flatMap { $0 } ?? target
    }
}
