// Name resolution: columns, and paths over to-one references.
extension Binder {
    /// Resolves a path. Its first name is a table if a table of the query has that name, else a column.
    ///
    /// - Parameter isPath: whether the first name is a column, whatever the tables are named.
    mutating func resolve(
        _ path: [String], _ at: SourcePosition, isPath: Bool = false
    ) throws(RecordError) -> BoundColumn {
        var path = ArraySlice(path)
        let isPath = isPath || path.count > 1 && path.first == Expr.ownRow
        if scope == nil, path.count > 1, isPath ? path.first == Expr.ownRow : isOwnName(path[0]) {
            path = path.dropFirst()
        }
        var node = -1
        var place = table
        var owner = ""
        if let scope {
            (node, path) = try scope.start(path, at)
            place = scope.sources[node].table
            owner = scope.sources[node].outerRow == nil ? scope.sources[node].name + "." : ""
        } else if !isPath, let reference = try reference(path, at) {
            node = reference
            place = joins[node].target
            owner = joins[node].path + "."
            path = path.dropFirst()
        }
        let written = owner + path.joined(separator: ".")
        for (step, name) in path.enumerated() {
            let isLast = step == path.count - 1
            if place.schema.isIDName(name) {
                guard isLast else { throw at.error("\(name) refers to no other table") }
                return BoundColumn(node: node, ordinal: nil, type: .integer, path: written)
            }
            guard let column = column(name, in: place) else {
                if !place.isDerived, catalogue.relations(of: place.schema.name)?.inverses[name] != nil {
                    throw at.error(Binder.leadsToMany(place, name))
                }
                let nearest = Spelling.nearest(to: name, in: place.schema.visibleNames)
                throw at.error(
                    "\(place.schema.name) has no column \(name)" + (nearest == nil ? at.textHint(name) : ""),
                    nearest: nearest)
            }
            if isLast {
                return BoundColumn(
                    node: node, ordinal: column.ordinal, type: column.type, path: written,
                    isSealed: column.sealedType != nil, isDecimal: holdsDecimals(column, place),
                    isNoCase: column.isNoCase)
            }
            if column.type == .keys {
                throw at.error(Binder.leadsToMany(place, name))
            }
            guard let target = column.target else {
                throw at.error("\(place.schema.name).\(name) holds \(column.type.name) and refers to no other table")
            }
            guard target != AnyReference.anyTable else {
                throw at.error("\(place.schema.name).\(name) refers to rows of any table, so no path leads on from it")
            }
            guard let next = catalogue.table(named: target) else {
                throw at.error("\(place.schema.name).\(name) refers to table \(target), which is not there")
            }
            // The reference itself holds the key of its target, so that no row is read.
            if step == path.count - 2, let key = Binder.singleKey(next), path.last == key {
                return BoundColumn(
                    node: node, ordinal: column.ordinal, type: column.type, path: written, isNoCase: column.isNoCase)
            }
            guard Binder.fits(column.type, next) else {
                throw at.error("\(place.schema.name).\(name) does not hold the key of \(target)")
            }
            node = join(
                node, place.layout.allSlots[column.ordinal], next, owner + path.prefix(step + 1).joined(separator: "."))
            place = next
        }
        throw at.error("a name is expected here")
    }

    private func holdsDecimals(_ column: ColumnSchema, _ place: TableHandle) -> Bool {
        if let decimals = place.derivedDecimals { return decimals.contains(column.name) }
        guard column.type == .text, let relations = catalogue.relations(of: place.schema.name) else { return false }
        return relations.decimals.contains(column.name)
    }

    /// Returns whether a qualifier is the name or alias of the query's table.
    func isQualifier(_ name: String) -> Bool {
        return Folding.folded(name) == Folding.folded(alias ?? table.schema.name)
    }

    /// Returns the same, also for the table's own name beside an alias, unless a column has that name.
    func isOwnName(_ name: String) -> Bool {
        if isQualifier(name) { return true }
        return alias != nil && Folding.folded(name) == Folding.folded(table.schema.name)
            && column(name, in: table) == nil
    }

    /// Returns the column of that name; in another case only if it is unambiguous.
    private func column(_ name: String, in place: TableHandle) -> ColumnSchema? {
        if let exact = place.schema.column(named: name) { return exact }
        let folded = Folding.folded(name)
        let alike = place.schema.liveColumns.filter { Folding.folded($0.name) == folded }
        return alike.count == 1 ? alike[0] : nil
    }

    private static func leadsToMany(_ table: TableHandle, _ name: String) -> String {
        "\(table.schema.name).\(name) leads to many rows; use ANY, ALL or NONE of them, or their @count, @sum, @min, @max or @avg"
    }

    static func singleKey(_ table: TableHandle) -> String? {
        switch table.schema.key {
        case .rowID(let name): name
        case .columns(let names): names.count == 1 ? names[0] : nil
        }
    }

    static func fits(_ type: ColumnType, _ target: TableHandle) -> Bool {
        switch target.schema.key {
        case .rowID: type == .reference || type == .integer
        case .columns(let names): names.count == 1 && target.schema.column(named: names[0])?.type == type
        }
    }

    mutating func join(_ parent: Int, _ slot: ColumnSlot, _ target: TableHandle, _ path: String) -> Int {
        if let known = joins.firstIndex(where: { $0.parent == parent && $0.slot.ordinal == slot.ordinal }) {
            return known
        }
        joins.append(JoinNode(parent: parent, slot: slot, target: target, path: path))
        return joins.count - 1
    }
}
