import MakoRecords
import MakoStorage

// Storing the row that is in the writer.
extension Transaction {
    /// Stores the row in the writer. An upsert updates the row with the same key or identity, if there is one.
    ///
    /// - Parameters:
    ///   - former: the object's previous row; a new row copies from it the columns that the object does not write.
    ///   - encode: encodes some properties into the writer again.
    func enter(
        _ binding: Binding, _ given: RowKey?, _ mode: SaveMode, like former: RowKey? = nil,
        _ encode: (PropertySet) throws(MakoError) -> Void
    ) throws(MakoError) -> RowKey {
        let key = binding.model.hasColumnKey ? nil : given
        if mode == .upsert && binding.mergesUpserts, let known = try knownRow(binding, given) {
            try checkNumber(known, binding)
            let owned = try self.owned(by: known, binding)
            try encode(PropertySet.all.subtracting(binding.model.writeOnceColumns))
            keepWhenNil(binding)
            let wasThere = try table(binding) { (table, tx) throws(RecordError) in
                try table.update(&self.writer, key: known, in: tx, changes: &self.changes, batch: self.batch)
            }
            try noteReleased(owned, by: known, binding)
            if wasThere { return known }
            try encode(.all)
        }
        try checkNumber(key, binding)
        // An upsert may replace the row with its key.
        let owned = mode == .upsert ? try self.owned(by: given, binding) : []
        if former != nil { keepWhenNil(binding) }
        let stored = try store(binding, key, mode, like: former)
        try noteReleased(owned, by: stored, binding)
        return stored
    }

    /// Refuses a row whose number the key's type cannot be: another number would mean another row. Before it is stored,
    /// because a single row has no savepoint.
    ///
    /// - Parameter key: nil for a new row, which gets the next number.
    private func checkNumber(_ key: RowKey?, _ binding: Binding) throws(MakoError) {
        let model = binding.model
        if model.rowNumbers.upperBound == .max { return }
        let number: Int64
        if case .rowID(let id) = key {
            number = id
        } else {
            number = try tableAlone(binding.table) { (table, tx) throws(RecordError) in try table.nextID(in: tx) }
        }
        if model.rowNumbers.contains(number) { return }
        throw .unstorableValue(
            entity: model.name, key: "\(number)", property: model.rowNumberProperty,
            reason: "its type ends at \(model.rowNumbers.upperBound); give the key a wider type, such as Int")
    }

    /// The row with the identity of an object without a row.
    func rowOfIdentity<T: ObjectEntity>(of object: T, _ binding: Binding) throws(MakoError) -> RowKey? {
        guard binding.identityIndex != nil else { return nil }
        try encodeLocking(object, .all, binding)
        return try knownRow(binding, nil)
    }

    /// The row with the key of the row in the writer, otherwise the one with its identity.
    private func knownRow(_ binding: Binding, _ given: RowKey?) throws(MakoError) -> RowKey? {
        if given != nil { return given }
        guard let index = binding.identityIndex else { return nil }
        try settle()
        return try records { () throws(RecordError) in
            try binding.table.owner(of: &self.writer, inUnique: index, view: self.view)
        }
    }

    /// Makes nil keep the stored value in the columns where the model says so.
    func keepWhenNil(_ binding: Binding) {
        if binding.model.keepWhenNilColumns.isEmpty { return }
        binding.model.keepWhenNilColumns.forEachWord { writer.unsetNulls($0, from: $1) }
    }

    /// Begins a row and encodes the properties that need no user code, under the object's lock. ``encodeRest()``
    /// encodes the others.
    func encode<T: Entity>(_ object: T, _ properties: PropertySet, _ binding: Binding) throws(MakoError) {
        if isEncoding { throw .unsupported("saving an object while another one is being written") }
        isEncoding = true
        defer { isEncoding = false }
        writer.begin(binding.layout)
        if binding.model.isWide {
            try object._$encode(into: &writer, properties: properties)
        } else {
            try object.encode(into: &writer, properties: properties.firstWord)
        }
    }

    /// Encodes the values that need user code, such as `Codable`, as they were when the row was begun. Without a lock,
    /// because that code may read any object and two objects may share a lock.
    func encodeRest() throws(MakoError) {
        isEncoding = true
        defer { isEncoding = false }
        do { try writer.writeRest() } catch { throw MakoError(any: error) }
    }

    func encodeLocking<T: ObjectEntity>(
        _ object: T, _ properties: PropertySet, _ binding: Binding
    ) throws(MakoError) {
        let lock = ObjectLock(object)
        lock.lock()
        do throws(MakoError) { try encode(object, properties, binding) } catch {
            lock.unlock()
            throw error
        }
        lock.unlock()
        try encodeRest()
    }

    func encodeWhole<T: Entity>(
        _ value: T, _ properties: PropertySet, _ binding: Binding
    ) throws(MakoError) {
        try encode(value, properties, binding)
        try encodeRest()
    }

    /// Stores the row in the writer as a new row, or in place of the one with its key.
    private func store(
        _ binding: Binding, _ key: RowKey?, _ mode: SaveMode, like former: RowKey? = nil
    ) throws(MakoError) -> RowKey {
        try table(binding) { (table, tx) throws(RecordError) in
            mode == .insert
                ? try table.insert(&self.writer, key: key, in: tx, changes: &self.changes, batch: self.batch)
                : try table.put(
                    &self.writer, key: key, like: former, in: tx, changes: &self.changes, batch: self.batch)
        }
    }

    /// Stores the whole object again when its row no longer exists.
    func rewrite<T: ObjectEntity>(_ object: T, _ key: RowKey, _ binding: Binding) throws(MakoError) -> RowKey {
        try encodeLocking(object, .all, binding)
        return try store(binding, binding.model.hasColumnKey ? nil : key, .upsert)
    }

    /// Runs one operation on a table with the engine's transaction.
    // Inlined, because a specialised function of its own costs a row six retains and releases.
    @inline(__always)
    func table<R>(
        _ binding: Binding, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        try table(binding.table, body)
    }

    @inline(__always)
    func table<R>(
        _ table: TableHandle, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        // A row may be stored under a key whose removal from to-many columns is pending.
        if !releases.isEmpty && releases.concern(table) { try settle() }
        return try tableAlone(table, body)
    }

    /// The same for an operation that does not depend on pending work.
    @inline(__always)
    func tableAlone<R>(
        _ table: TableHandle, _ body: (TableHandle, borrowing WriteTransaction) throws(RecordError) -> R
    ) throws(MakoError) -> R {
        // User code runs while a row is being encoded.
        if isEncoding { throw .unsupported("changing rows while an object is being written") }
        return try writeLock.with { (tx: borrowing WriteTransaction) throws(MakoError) -> R in
            do throws(RecordError) { return try body(table, tx) } catch { throw MakoError(error) }
        }
    }

    /// Throws for a partial model, through which rows cannot be changed.
    func refusePartial(_ model: EntityModel) throws(MakoError) {
        if model.isPartial {
            throw .unsupported("storing or removing through \(model.name), which shows a part of \(model.table) only,")
        }
    }
}
