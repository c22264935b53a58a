// The entity of the guide's views, as the macro would write it: other systems get no macros here.
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
