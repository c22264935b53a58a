import MakoRecords
import MakoStorage

// Tables and the types that are bound to them.
extension Transaction {
    /// Migrates the tables of types and binds the types.
    func bind(_ models: [EntityModel]) throws(MakoError) {
        if models.isEmpty { return }
        try settle()
        let old = schema
        try database.naming.settle(models)
        let models = try old.withSplitTargets(models)
        try database.naming.settle(models)
        var tables = try old.migrations(of: models, dropsRetired: database.options.dropsRetired)
        let access = CipherAccess { [database] () throws(PropertyKeyProblem) in try database.valueCipher() }
        for place in tables.indices { tables[place].access = access }
        // A caller that catches the error and continues must not commit half a migration.
        beginPart(undo.mark)
        let reports: [MigrationReport]
        let cleared: [String]
        do throws(MakoError) {
            try saveFile(defersUnique: changes.defersUnique)
            try lockProperties(of: models)
            reports = try migrate(tables, from: old)
            let isMigrated = reports.contains { !$0.steps.isEmpty }
            let catalogue = try catalogue(describing: old.models + models, after: old.catalogue, isMigrated: isMigrated)
            try adopt(SchemaState(catalogue: catalogue, models: old.models + models, version: old.version + 1))
            cleared = try DanglingReferences(reports, before: old.catalogue, after: catalogue).clear(schema, in: self)
            try keepPart()
        } catch {
            try rollBackPart()
            throw error
        }
        for report in reports {
            steps += report.steps.map { MigrationStep(entity: report.table, description: "\($0)") }
        }
        rewrites.add(cleared)
        for report in reports where report.changesRows {
            // Explicit steps and changed keys may affect rows of any table.
            let affectsAll = report.isByHand || report.changesKey
            rewrites.add(affectsAll ? old.tables.union(schema.tables).sorted() : [report.table])
        }
    }

    /// The current catalogue, with the models' delete rules, which then apply to every writer of the file.
    ///
    /// - Parameter isMigrated: whether tables differ from those of the previous catalogue.
    private func catalogue(
        describing models: [EntityModel], after previous: Catalogue, isMigrated: Bool
    ) throws(MakoError) -> Catalogue {
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                let current = isMigrated ? try Catalogue.load(view: tx.view, previous: previous) : previous
                var rules = current.rules
                rules.adopt(models)
                return try current.adopting(rules, in: tx)
            }
        }
    }

    /// Stores the lock of the property key in the file, before a value is encrypted with it.
    private func lockProperties(of models: [EntityModel]) throws(MakoError) {
        guard let key = database.options.propertyKey, models.contains(where: \.hasEncryptedColumns) else { return }
        let entropy = database.options.storage.entropy
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            try records { () throws(RecordError) in
                if try Catalogue.propertyLock(in: tx.view) != nil { return }
                let lock: [UInt8]
                do throws(PropertyKeyProblem) { lock = try ValueCipher.make(for: key, entropy: entropy).lock } catch {
                    let model = models.first(where: \.hasEncryptedColumns)
                    let column = model?.columns.first(where: \.isEncrypted)
                    throw .valueSealed(table: model?.table ?? "", column: column?.column ?? "", error)
                }
                try Catalogue.setPropertyLock(lock, in: tx)
            }
        }
    }

    private func migrate(
        _ tables: [TableMigration], from old: SchemaState
    ) throws(MakoError) -> [MigrationReport] {
        let handler = database.options.onMigration
        return try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) -> [MigrationReport] in
            do throws(RecordError) {
                return try Catalogue.migrate(
                    tables, previous: old.catalogue, bound: Set(old.models.map(\.table)),
                    progress: handler.map { handler in { handler(MigrationProgress($0)) } }, in: tx)
            } catch {
                throw MakoError(migrating: error)
            }
        }
    }

    /// Removes a type's table, to whose rows no reference may remain.
    func drop(_ model: EntityModel) throws(MakoError) {
        try settle()
        try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) in
            _ = try records { () throws(RecordError) in try Catalogue.dropTable(model.table, in: tx) }
        }
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        // Types that refer to it are rebound at their next use, which creates the table again.
        let others = old.models.filter { other in
            other.table != model.table && !other.related.contains { $0.table == model.table }
        }
        try adopt(SchemaState(catalogue: catalogue, models: others, version: old.version + 1))
        if !model.raisesEvents {
            for change in changes.changes where change.table == model.table {
                events.setSilent(true, EventHub.Identity(table: change.table, key: change.key))
            }
        }
        steps.append(MigrationStep(entity: model.table, description: "dropped"))
        rewrites.add(model.table, isKnown: true)
    }

    /// Reloads the catalogue and rebinds the types in use.
    ///
    /// - Parameter isRewritten: whether rows of the table changed without individual change records.
    func adoptTables(_ table: String, _ description: String, isRewritten: Bool) throws(MakoError) {
        let old = schema
        let catalogue = try records { () throws(RecordError) in
            try Catalogue.load(view: view, previous: old.catalogue)
        }
        try adopt(SchemaState(catalogue: catalogue, models: old.models, version: old.version + 1))
        steps.append(MigrationStep(entity: table, description: description))
        if isRewritten { rewrites.add(table) }
    }

    /// The current binding. A hook may have bound another type of the table, or one that refers to it.
    func current(_ binding: Binding) -> Binding {
        return schema.binding(binding.model) ?? binding
    }

    func binding(_ model: EntityModel) throws(MakoError) -> Binding {
        if let binding = schema.binding(model) { return binding }
        try bind(schema.missing(from: [model]))
        if let binding = schema.binding(model) { return binding }
        throw .migration(entity: model.name, reason: "its table could not be bound")
    }
}
