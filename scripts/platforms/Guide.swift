// The entities of the views in the guide and in comments, as the macro would write them: other systems get no macros here.
import MakoCore

struct Message: Entity {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        Message.self, table: "Message", id: \Message.id,
        properties: [
            .column("text", \Message.text, EntityCoding.codec(String.self), default: ""),
            .column("stars", \Message.stars, EntityCoding.codec(Int.self), default: 0),
        ])

    var text = ""
    var stars = 0
    var id: Int? { _$value.id }

    init(row: EntityRow) throws(MakoError) {
        text = try EntityCoding.codec(String.self).read(row, 0)
        stars = try EntityCoding.codec(Int.self).read(row, 1)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(text, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(stars, &writer, 1) }
    }
}

struct Person: Entity {
    var _$value = ValueState()

    static let entityModel = EntityModel(
        Person.self, table: "Person", id: \Person.id,
        properties: [
            .column("name", \Person.name, EntityCoding.codec(String.self), default: ""),
            .column("age", \Person.age, EntityCoding.codec(Int.self), default: 0),
        ])

    var name = ""
    var age = 0
    var id: Int? { _$value.id }

    init(row: EntityRow) throws(MakoError) {
        name = try EntityCoding.codec(String.self).read(row, 0)
        age = try EntityCoding.codec(Int.self).read(row, 1)
        _$value = row.valueState
    }

    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
        if properties & 1 != 0 { try EntityCoding.codec(String.self).write(name, &writer, 0) }
        if properties & 2 != 0 { try EntityCoding.codec(Int.self).write(age, &writer, 1) }
    }
}
