import MakoRecords

// Several models may share a table: each reads and writes its own columns, and all have the same rows. A partial model
// shows columns that another model declares, and declares none.

extension SchemaState {
    /// The migrations for models to be bound, one per table.
    func migrations(of models: [EntityModel], dropsRetired: Bool) throws(MakoError) -> [TableMigration] {
        var migrations: [TableMigration] = []
        let whole = models.filter { !$0.isPartial }
        for (place, model) in whole.enumerated() {
            try model.checkInverses()
            if whole[..<place].contains(where: { $0.table == model.table }) { continue }
            let others = (self.models + whole).filter {
                $0.table == model.table && $0 !== model && !$0.isPartial
            }
            var migration = try model.migration(dropsRetired: dropsRetired)
            for other in others { try model.checkNaming(beside: other) }
            if !others.isEmpty { for each in [model] + others { try each.checkSharing() } }
            for other in others {
                if migration.steps == nil {
                    migration.steps = try other.migration(dropsRetired: dropsRetired).steps
                } else if other.type is any Migratable.Type {
                    throw .migration(
                        entity: model.name,
                        reason: "\(other.name) has the same table; only one of them can be Migratable")
                }
                migration.schema = try migration.schema.joined(with: other)
            }
            migrations.append(migration)
        }
        return migrations
    }
}

extension EntitySchema {
    /// The schema of a table that is shared with another model.
    fileprivate func joined(with model: EntityModel) throws(MakoError) -> EntitySchema {
        let other = try model.schema()
        if other.key != key {
            throw .migration(entity: model.name, reason: "another type has the table \(name) too, with another key")
        }
        var joined = self
        for column in other.columns {
            guard let known = self.column(named: column.name) else {
                joined.columns.append(column)
                continue
            }
            if (known.sealedType == nil) != (column.sealedType == nil) {
                throw .migration(
                    entity: model.name,
                    reason:
                        "another type has the table \(name) too, and \(column.name) is encrypted in one of them only")
            }
            if known.sealedType != column.sealedType || known.type != column.type
                || known.isOptional != column.isOptional || known.target != column.target
            {
                throw .migration(
                    entity: model.name,
                    reason: "another type has the table \(name) too, and \(column.name) of another type there")
            }
            try joined.adopt(column, model)
        }
        for index in other.indexes where !joined.indexes.contains(index) {
            joined.indexes.removeAll { $0.name == index.name && !$0.isUnique }
            if !joined.indexes.contains(where: { $0.name == index.name }) { joined.indexes.append(index) }
        }
        return joined
    }
}

extension EntitySchema {
    /// Takes over what another model declares for the migration of a column: either one may say where it comes from.
    private mutating func adopt(_ other: ColumnSchema, _ model: EntityModel) throws(MakoError) {
        for place in columns.indices where columns[place].name == other.name {
            if let old = other.originalName, let known = columns[place].originalName, old != known {
                throw .migration(
                    entity: model.name,
                    reason: "another type has the table \(name) too, and \(other.name) has the original name \(known) "
                        + "there, not \(old); declare the same one in both")
            }
            columns[place].originalName = columns[place].originalName ?? other.originalName
            columns[place].takesOneKey = columns[place].takesOneKey || other.takesOneKey
        }
    }
}

extension EntityModel {
    /// Throws when two types get the same table by a naming rule or because they have the same name. Only declarations
    /// can share a table.
    func checkNaming(beside other: EntityModel) throws(MakoError) {
        if self === other || declaresTable || other.declaresTable { return }
        if givenTable == other.givenTable {
            let (own, others) = EntityModel.fullNames(self, other)
            throw .migration(
                entity: own,
                reason: "its table is called \(table), as is that of \(others); give one of them a name of its own by "
                    + "@Entity(\"…\"). Types that are to share the table say so by @Entity(\"\(table)\")")
        }
        throw .migration(
            entity: name,
            reason: "the naming of tables calls its table \(table), as it does that of \(other.name); "
                + "give one of them a name by @Entity(\"…\")")
    }

    /// The qualified names of two types with the same name, as short as they differ.
    private static func fullNames(_ first: EntityModel, _ second: EntityModel) -> (String, String) {
        func parts(_ model: EntityModel) -> [Substring] {
            // The context of a private type is an address.
            String(reflecting: model.type).split(separator: ".").filter { !$0.hasPrefix("(") }
        }
        let (a, b) = (parts(first), parts(second))
        let isInside = a.count > 1 && a.first == b.first && a.dropFirst() != b.dropFirst()
        func joined(_ parts: [Substring]) -> String { parts.dropFirst(isInside ? 1 : 0).joined(separator: ".") }
        return (joined(a), joined(b))
    }

    /// Throws when the models of a shared table would treat its rows differently.
    fileprivate func checkSharing() throws(MakoError) {
        for property in properties {
            if property.relation.contains(.owned) {
                throw .migration(
                    entity: name,
                    reason: "several types show the table \(table), so its \(property.name) cannot own what it refers "
                        + "to; remove '.owned', or give \(name) a table of its own")
            }
            if case .many(_, let rule) = property.kind, rule != .nullify {
                throw .migration(
                    entity: name,
                    reason: "several types show the table \(table), so its \(property.name) cannot have the delete "
                        + "rule \(rule); leave it out, or give \(name) a table of its own")
            }
        }
    }

    /// Throws unless the columns of a partial model match the table.
    func checkPart(of catalogue: Catalogue) throws(MakoError) {
        guard let table = catalogue.table(named: table)?.schema else {
            throw .migration(
                entity: name,
                reason: "there is no table \(self.table) yet of which it shows a part; use the whole type first")
        }
        let own = try schema()
        if own.key != table.key {
            throw .migration(entity: name, reason: "its key is not that of \(self.table), of which it shows a part")
        }
        for column in own.columns {
            guard let stored = table.column(named: column.name) else {
                throw .migration(
                    entity: name, reason: "\(self.table), of which it shows a part, has no \(column.name)")
            }
            if (stored.sealedType == nil) != (column.sealedType == nil) {
                throw .migration(
                    entity: name,
                    reason:
                        "its \(column.name) is encrypted either here or in \(self.table), of which it shows a part; "
                        + "mark both .encrypted or none")
            }
            if stored.sealedType != column.sealedType || stored.type != column.type
                || stored.isOptional && !column.isOptional || stored.target != column.target
            {
                throw .migration(
                    entity: name,
                    reason:
                        "its \(column.name) is not of the type that it has in \(self.table), of which it shows a part")
            }
        }
    }

    /// Throws unless the stored columns of a read-only file, which is not migrated, match the type. ``checkPart(of:)``
    /// checks missing columns of partial models.
    func checkReading(of catalogue: Catalogue) throws(MakoError) {
        func refuse(_ what: String) -> MakoError {
            .migration(
                entity: name,
                reason:
                    "\(what) in the file, which is only read; open it for writing with this type once, or read it with "
                    + "the types that it is written with")
        }
        if isPartial && catalogue.table(named: table) == nil { return }
        let table: EntitySchema
        do throws(RecordError) { table = try catalogue.requireTable(self.table).schema } catch {
            throw refuse("there is no table \(self.table)")
        }
        let own = try schema()
        switch (own.key, table.key) {
        case (.rowID, .rowID): break
        case (.columns(let wanted), .columns(let stored)) where wanted == stored: break
        default: throw refuse("its key is another one")
        }
        for column in own.columns {
            guard let stored = table.column(named: column.name) else {
                if isPartial { continue }
                throw refuse("there is no \(table.name).\(column.name)")
            }
            if column.sealedType != nil || stored.sealedType != nil { continue }
            let types: Set = [column.type, stored.type]
            if types.count > 1 && types != [.integer, .reference] {
                throw refuse("\(column.name) is of type \(stored.type.name), not \(column.type.name),")
            }
            if stored.isOptional && !column.isOptional { throw refuse("\(column.name) may be nil") }
        }
    }

    /// Throws when the type and a read-only file, which is not migrated, differ in which columns are encrypted.
    func checkEncryption(of table: EntitySchema) throws(MakoError) {
        for property in columns {
            guard case .column = property.kind, let stored = table.column(named: property.column),
                (stored.sealedType == nil) != (property.sealedType == nil)
            else { continue }
            throw .migration(
                entity: name,
                reason: "\(property.name) is \(stored.sealedType == nil ? "not encrypted" : "encrypted") in the file; "
                    + "open the file for writing with this type once")
        }
    }
}
