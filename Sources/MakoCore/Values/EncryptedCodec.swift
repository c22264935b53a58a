import MakoRecords
import MakoStorage

extension EntityCoding {
    /// The codec of a property that is encrypted in its row. The column holds encrypted bytes; dictionaries, JSON and
    /// descriptions have the plain value. `nil` is stored as NULL.
    public enum EncryptedCodec<Base: PropertyCodec>: PropertyCodec where Base.Property: Sendable {
        /// The type of the property: an optional of the base type.
        public typealias Property = Base.Property?

        /// The column type: the encrypted bytes.
        public static var columnType: ColumnType { .blob }
        /// The column type of the decrypted value.
        public static var sealedType: ColumnType? { Base.columnType }
        /// True: the column of nil is NULL.
        public static var isOptional: Bool { true }
        /// Whether the decrypted value is JSON.
        public static var isJSON: Bool { Base.isJSON }
        /// Returns the plain value as the base codec stores it; NULL for nil.
        public static func stored(_ value: Property) -> StoredValue { value.map(Base.stored) ?? .null }

        /// Returns nil for NULL, else the value of the base codec for a plain value.
        public static func value(_ stored: StoredValue) -> Property? {
            if stored.isNull { return .some(.none) }
            return Base.value(stored).map { .some($0) }
        }

        /// Returns the reason why the base codec cannot store the value; nil if it can.
        public static func fault(storing value: Property) -> String? { value.flatMap { Base.fault(storing: $0) } }

        /// Decrypts the property from a row.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            if row.reader.isNull(position) { return nil }
            let stored = try records { () throws(RecordError) in
                try row.reader.value(
                    position,
                    opening: { () throws(PropertyKeyProblem) in
                        try Database.valueCipher(ofNumber: row.database)
                    })
            }
            if let value = Base.value(stored) { return value }
            // The value itself must not appear in a message.
            throw EntityCoding.unreadable(row, position, "the encrypted \(stored.typeName) is no \(Base.Property.self)")
        }

        /// Encrypts the property to a row; nil as NULL.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            guard let value else { return writer.setNull(position) }
            writer.writeLater { try seal(value, &$0, position) }
        }

        private static func seal(
            _ value: Base.Property, _ writer: inout RowWriter, _ position: Int
        ) throws(MakoError) {
            if let reason = Base.fault(storing: value) { throw EntityCoding.unstorable(writer, position, reason) }
            let stored = Base.stored(value)
            let database = writer.database
            try records { () throws(RecordError) in
                try writer.set(
                    position, stored,
                    sealing: { () throws(PropertyKeyProblem) in
                        try Database.valueCipher(ofNumber: database)
                    })
            }
        }
    }
}

extension EntityCoding {
    /// Returns the encrypting codec for an optional storable type.
    @inlinable
    public static func encryptedCodec<T: StorableValue>(_: T?.Type) -> EncryptedCodec<StorableCodec<T>>.Type {
        EncryptedCodec<StorableCodec<T>>.self
    }
    /// Returns the encrypting codec for an optional storable, raw-representable type.
    @inlinable
    public static func encryptedCodec<T: StorableValue & RawRepresentable>(
        _: T?.Type
    ) -> EncryptedCodec<StorableCodec<T>>.Type where T.RawValue: StorableValue {
        EncryptedCodec<StorableCodec<T>>.self
    }
    /// Returns the encrypting codec for an optional raw-representable type.
    @inlinable
    public static func encryptedCodec<T: RawRepresentable>(_: T?.Type) -> EncryptedCodec<RawCodec<T>>.Type
    where T.RawValue: StorableValue {
        EncryptedCodec<RawCodec<T>>.self
    }
    /// Returns the encrypting codec for an optional `Codable` type.
    @_disfavoredOverload @inlinable
    public static func encryptedCodec<T: Codable>(_: T?.Type) -> EncryptedCodec<JSONCodec<T>>.Type {
        EncryptedCodec<JSONCodec<T>>.self
    }
    /// Returns the encrypting JSON codec for an optional `Codable` type.
    @inlinable
    public static func encryptedSerializedCodec<T: Codable>(_: T?.Type) -> EncryptedCodec<JSONCodec<T>>.Type {
        EncryptedCodec<JSONCodec<T>>.self
    }

    /// Unavailable: refuses an encrypted relationship at compile time.
    @available(
        *, unavailable,
        message: "a relationship cannot be encrypted; encrypt properties of the object, or add .serialized"
    )
    public static func encryptedCodec<T: Entity>(_: T?.Type) -> EncryptedCodec<JSONCodec<String>>.Type {
        EncryptedCodec<JSONCodec<String>>.self
    }
}

// MARK: - Finding the cipher

extension DatabaseOptions {
    /// The cipher for the values of a file with this lock.
    func valueCipher(_ lock: [UInt8]?) throws(PropertyKeyProblem) -> ValueCipher {
        guard let propertyKey else { throw .missing }
        guard Encryption.isAvailable else { throw .unavailable }
        // Nothing is encrypted before the file has a lock.
        guard let lock else { throw .damaged }
        return try ValueCipher(opening: lock, with: propertyKey, entropy: storage.entropy)
    }

    /// Access to the cipher for planning migrations: for a file without a lock it is a temporary one, with which
    /// nothing is stored.
    func cipherAccess(planning view: Snapshot) -> CipherAccess {
        CipherAccess { () throws(PropertyKeyProblem) in
            guard let propertyKey else { throw .missing }
            if let lock = try view.propertyLock() { return try valueCipher(lock) }
            return try ValueCipher.make(for: propertyKey, entropy: storage.entropy).cipher
        }
    }
}

extension Snapshot {
    fileprivate func propertyLock() throws(PropertyKeyProblem) -> [UInt8]? {
        do throws(RecordError) { return try Catalogue.propertyLock(in: self) } catch {
            throw .unreadable(reason: "\(error)")
        }
    }
}

extension Database {
    /// The cipher of the database of a row, whatever database is current on this thread.
    static func valueCipher(ofNumber number: UInt32) throws(PropertyKeyProblem) -> ValueCipher {
        if let database = DatabaseRegistry.database(number) { return try database.valueCipher() }
        if let path = DatabaseRegistry.path(ofReleased: number) { throw .unreadable(reason: "\(path) is closed") }
        throw .missing
    }

    /// The cipher of the encrypted properties. A committed one is cached; that of a running transaction is not, because
    /// it may be rolled back.
    func valueCipher() throws(PropertyKeyProblem) -> ValueCipher {
        if let known = knownCipher.withLock({ $0 }) { return known }
        if options.propertyKey == nil { throw .missing }
        let view: Snapshot
        do throws(MakoError) { view = try newestView() } catch { throw .unreadable(reason: "\(error)") }
        defer { view.close() }
        if let committed = try view.propertyLock() {
            let cipher = try options.valueCipher(committed)
            knownCipher.withLock { $0 = cipher }
            return cipher
        }
        return try options.valueCipher(try ThreadScope.current(of: self)?.transaction?.view.propertyLock())
    }
}
