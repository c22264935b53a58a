extension ResolvedMigration {
    /// Whether the stored table is as it is declared. Nothing is planned then: at most openings of a file that is the case
    /// for all tables, and planning took a third of the time.
    ///
    /// May be false for a table that stays as it is, because renames and manual steps are left to ``TablePlan``.
    func leavesUnchanged(_ stored: TableRecord) -> Bool {
        let (old, new) = (stored.schema, request.schema)
        guard steps.isEmpty, version == nil, newNames.isEmpty, old.name == new.name, old.key == new.key else {
            return false
        }
        if request.dropsRetired && old.columns.contains(where: { $0.isRetired && !$0.isDead }) { return false }
        return ResolvedMigration.isDeclared(old.columns, as: new.columns) && ResolvedMigration.hasIndexes(old, of: new)
    }

    private static func isDeclared(_ stored: [ColumnSchema], as declared: [ColumnSchema]) -> Bool {
        // The live columns come first, in the order of the type.
        let liveCount = stored.firstIndex(where: \.isRetired) ?? stored.count
        guard declared.count == liveCount else { return false }
        for place in declared.indices {
            let (old, new) = (stored[place], declared[place])
            guard
                old.name == new.name, old.type == new.type, old.sealedType == new.sealedType,
                old.isOptional == new.isOptional, old.target == new.target, old.defaultValue == new.defaultValue,
                new.originalName == nil, !new.isRetired
            else { return false }
        }
        return true
    }

    private static func hasIndexes(_ stored: EntitySchema, of declared: EntitySchema) -> Bool {
        if stored.indexes == declared.indexes { return stored.keyIndex.map(declared.indexes.contains) ?? true }
        guard let index = stored.keyIndex, !declared.indexes.contains(index) else { return false }
        return stored.indexes == declared.indexes + [index]
    }
}
