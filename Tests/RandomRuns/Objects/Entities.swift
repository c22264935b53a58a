import MakoCore

// The entities of the random runs, by hand: what `@Entity` writes, with the same parts for each property taken out.

extension ObjectEntity {
    fileprivate func held<V>(_ path: KeyPath<Self, V>) -> V { ObjectLock(self).locked { self[keyPath: path] } }

    fileprivate func hold<V>(_ path: ReferenceWritableKeyPath<Self, V>, _ value: V, _ property: Int) {
        let lock = ObjectLock(self)
        lock.lock()
        let old = self[keyPath: path]
        let mark = EntityCoding.noteWrite(&_$state, of: self, property: property)
        self[keyPath: path] = value
        lock.unlock()
        if mark.needsUndo { EntityCoding.recordUndo(mark, of: self) { $0[keyPath: path] = old } }
    }

    fileprivate func followed<T: ObjectEntity>(
        _ path: ReferenceWritableKeyPath<Self, EntityCoding.ReferenceSlot<T>>, _ property: Int
    ) -> T? {
        let slot = held(path)
        if slot.isSettled { return slot.value }
        let loaded = slot.loaded(by: self, property: property)
        return ObjectLock(self).locked {
            self[keyPath: path].settle(loaded, replacing: slot)
            return self[keyPath: path].value
        }
    }
}

/// Its members go with it.
package final class Club: ObjectEntity, @unchecked Sendable {
    package var _$state = ObjectState()

    package static let entityModel = EntityModel(
        Club.self, table: "Club", id: \Club.id,
        properties: [
            .column("name", \Club.name, EntityCoding.codec(String.self), default: "", options: [.unique]),
            .many("members", \Club.members, Member.self, inverse: \Member.club, deleteRule: .cascade),
        ])

    private var _name: String
    package var name: String {
        get { held(\._name) }
        set { hold(\._name, newValue, 0) }
    }
    package var members: ToMany<Member> { ToMany(owner: self, inverse: \Member.club) }
    package var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    package convenience init() { self.init(name: "") }
    package init(name: String) { _name = name }

    package init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
    }

    package func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
    }

    package func adoptValues(of object: AnyObject) {
        if let other = object as? Club { _name = other._name }
    }
}

/// It belongs to a club, follows another member, and cannot go while it has badges.
package final class Member: ObjectEntity, @unchecked Sendable {
    package var _$state = ObjectState()

    package static let entityModel = EntityModel(
        Member.self, table: "Member", id: \Member.id,
        properties: [
            .column("name", \Member.name, EntityCoding.codec(String.self), default: "", options: [.indexed]),
            .column("age", \Member.age, EntityCoding.codec(Int.self), default: 36),
            .column("number", \Member.number, EntityCoding.codec(Int?.self), options: [.unique]),
            .column("club", \Member.club, EntityCoding.codec(Club?.self)),
            .column("mentor", \Member.mentor, EntityCoding.codec(Member?.self)),
            .many("badges", \Member.badges, Badge.self, inverse: \Badge.holder, deleteRule: .deny),
        ],
        indexes: [
            EntityModel.index(
                Member.self, [.descending(\Member.age), IndexKey.ignoringCase(\Member.name)], isUnique: false)
        ])

    private var _name: String
    private var _age: Int
    private var _number: Int?
    private var _club: EntityCoding.ReferenceSlot<Club>
    private var _mentor: EntityCoding.ReferenceSlot<Member>
    package var name: String {
        get { held(\._name) }
        set { hold(\._name, newValue, 0) }
    }
    package var age: Int {
        get { held(\._age) }
        set { hold(\._age, newValue, 1) }
    }
    package var number: Int? {
        get { held(\._number) }
        set { hold(\._number, newValue, 2) }
    }
    package var club: Club? {
        get { followed(\._club, 3) }
        set { hold(\._club, EntityCoding.codec(Club?.self).slot(newValue), 3) }
    }
    package var mentor: Member? {
        get { followed(\._mentor, 4) }
        set { hold(\._mentor, EntityCoding.codec(Member?.self).slot(newValue), 4) }
    }
    package var badges: ToMany<Badge> { ToMany(owner: self, inverse: \Badge.holder) }
    package var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    package convenience init() { self.init(name: "", age: 0, number: nil) }
    package init(name: String, age: Int, number: Int?) {
        _name = name
        _age = age
        _number = number
        _club = EntityCoding.codec(Club?.self).emptySlot
        _mentor = EntityCoding.codec(Member?.self).emptySlot
    }

    package init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _name = try EntityCoding.codec(String.self).read(row, 0)
        _age = try EntityCoding.codec(Int.self).read(row, 1)
        _number = try EntityCoding.codec(Int?.self).read(row, 2)
        _club = try EntityCoding.codec(Club?.self).readSlot(row, 3)
        _mentor = try EntityCoding.codec(Member?.self).readSlot(row, 4)
    }

    package func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(_age, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(Int?.self).write(_number, &writer, 2) }
        if properties & 8 != 0 { try EntityCoding.codec(Club?.self).writeSlot(_club, &writer, 3) }
        if properties & 16 != 0 { try EntityCoding.codec(Member?.self).writeSlot(_mentor, &writer, 4) }
    }

    package func adoptValues(of object: AnyObject) {
        guard let other = object as? Member else { return }
        _name = other._name
        _age = other._age
        _number = other._number
        _club = other._club
        _mentor = other._mentor
    }

    package func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _club.loadedObject { visit(3, object) }
        if let object = _mentor.loadedObject { visit(4, object) }
    }

    package func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 3 { _club.resolve(object, key: key) }
        if property == 4 { _mentor.resolve(object, key: key) }
    }
}

/// Its key is a property.
package final class Badge: ObjectEntity, @unchecked Sendable {
    package var _$state = ObjectState()

    package static let entityModel = EntityModel(
        Badge.self, table: "Badge", id: \Badge.id,
        properties: [
            .column("code", \Badge.code, EntityCoding.codec(String.self), default: ""),
            .column("note", \Badge.note, EntityCoding.codec(String.self), default: ""),
            .column("holder", \Badge.holder, EntityCoding.codec(Member?.self)),
        ], keys: ["code"])

    private var _code: String
    private var _note: String
    private var _holder = EntityCoding.codec(Member?.self).emptySlot
    package var code: String {
        get { held(\._code) }
        set { hold(\._code, newValue, 0) }
    }
    package var note: String {
        get { held(\._note) }
        set { hold(\._note, newValue, 1) }
    }
    package var holder: Member? {
        get { followed(\._holder, 2) }
        set { hold(\._holder, EntityCoding.codec(Member?.self).slot(newValue), 2) }
    }
    package var id: String { code }

    package convenience init() { self.init(code: "", note: "") }
    package init(code: String, note: String) {
        _code = code
        _note = note
    }

    package init(row: EntityRow) throws(MakoError) {
        _$state = row.state
        _code = try EntityCoding.codec(String.self).read(row, 0)
        _note = try EntityCoding.codec(String.self).read(row, 1)
        _holder = try EntityCoding.codec(Member?.self).readSlot(row, 2)
    }

    package func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(_code, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(String.self).write(_note, &writer, 1) }
        if properties & 4 != 0 { try EntityCoding.codec(Member?.self).writeSlot(_holder, &writer, 2) }
    }

    package func adoptValues(of object: AnyObject) {
        guard let other = object as? Badge else { return }
        _code = other._code
        _note = other._note
        _holder = other._holder
    }

    package func keyValues() -> [StoredValue] { [.text(_code)] }

    package func visitReferences(_ visit: (Int, any ObjectEntity) -> Void) {
        if let object = _holder.loadedObject { visit(2, object) }
    }

    package func resolveReference(_ property: Int, to object: any ObjectEntity, key: RowKey) {
        if property == 2 { _holder.resolve(object, key: key) }
    }
}
