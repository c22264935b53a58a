/// The names of tables that stored targets mean.
struct TargetNames {
    private let names: Set<String>
    /// By their names without case; nil where several tables have one. Made when the first target is no table's name.
    private var folded: [String: String?]?

    init(_ names: [String]) { self.names = Set(names) }

    /// The name of the table that is spelled so, else of the one whose name differs in case alone; what is given where there is none, or several.
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
