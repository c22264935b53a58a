import MakoRecords

// The delete rules that types declare. The catalogue stores them for every writer of the file (decision 61).

extension ReferenceRules {
    /// Adds the rules of models' references. Needs all bound models, because the class of a removed object determines
    /// what happens to the rows that refer to it.
    mutating func adopt(_ models: [EntityModel]) {
        let whole = models.filter { !$0.isPartial }
        for model in whole {
            for property in model.columns where property.isReference { adopt(property, of: model, whole) }
        }
    }

    private mutating func adopt(_ property: PropertyModel, of model: EntityModel, _ models: [EntityModel]) {
        let isOwned = property.relation.contains(.owned)
        var target = AnyReference.anyTable
        if case .column(_, _, _, let entity?) = property.kind { target = entity.entityModel.table }
        let isAny = target == AnyReference.anyTable
        set(Entry(.nullify, isOwned: isOwned), table: model.table, column: property.column, target: target)
        for other in models where isAny || other.table == target {
            let rule = other.deleteRule(from: model, column: property.column)
            if rule != .nullify {
                set(
                    Entry(rule.stored, isOwned: isOwned), table: model.table, column: property.column,
                    target: other.table)
            } else if isAny {
                remove(table: model.table, column: property.column, target: other.table)
            }
        }
    }
}

extension DeleteRule {
    fileprivate var stored: ReferenceRule {
        switch self {
        case .nullify: .nullify
        case .cascade: .cascade
        case .deny: .deny
        }
    }
}
