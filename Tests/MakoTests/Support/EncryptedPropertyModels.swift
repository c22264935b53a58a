import Foundation
import Mako

// The entities of the tests of encrypted properties, with several versions of the same table.
enum Ward {
    enum Mood: String, Codable { case calm, restlessness }

    struct Finding: Codable, Equatable {
        var code = ""
        var severity = 0
    }

    @Entity("Patient") final class Patient: Codable {
        var name = ""
        @Attribute(.encrypted) var diagnosis: String?
        @Attribute(.encrypted) var age: Int?
        @Attribute(.encrypted) var born: Date?
        @Attribute(.encrypted) var scan: Data?
        @Attribute(.encrypted) var mood: Mood?
        @Attribute(.encrypted) var findings: [Finding]?
        @Attribute(.encrypted, .serialized) var habits: [String: Int]?
        @Attribute(.encrypted, .loadOnRefresh) var notes: String?
        @Attribute(.encrypted, .column("answer_column")) var answer: StoredValue?
        var friend: Patient?
    }

    @Entity struct Bed {
        @Attribute(.primaryKey) var number: String
        @Attribute(.encrypted) var occupant: String?
        @Attribute(.encrypted) var weight: Double? = nil
    }
}

enum PlainWard {
    @Entity("Case") final class Case {
        #Index<Case>([\.name])
        var name = ""
        var diagnosis: String?
        var scan: Data?
    }
}

enum SealedWard {
    @Entity("Case") final class Case {
        #Index<Case>([\.name])
        var name = ""
        @Attribute(.encrypted) var diagnosis: String?
        @Attribute(.encrypted) var scan: Data?
    }

    /// A partial entity that declares the encrypted properties wrongly.
    @Entity("Case", partial: true) final class PlainScan {
        var scan: Data?
    }

    @Entity("Case", partial: true) final class CaseScan {
        @Attribute(.encrypted) var scan: Data?
    }
}

enum RenamedWard {
    @Entity("Case") final class Case {
        var name = ""
        @Attribute(.encrypted, .originalName("diagnosis")) var illness: String?
        @Attribute(.encrypted) var scan: Data?
    }
}

enum NumberWard {
    @Entity("Case") final class Case {
        var name = ""
        @Attribute(.encrypted) var diagnosis: Int?
        @Attribute(.encrypted) var scan: Data?
    }
}

enum HandWard {
    /// Takes over the rows of `Case`, and looks at them with steps of its own.
    @Entity("Record") final class Record: Migratable {
        var name = ""
        @Attribute(.encrypted) var diagnosis: String?
        @Attribute(.encrypted) var scan: Data?
        @Attribute(.encrypted) var summary: String?

        static func migrate(_ m: inout Migration) throws {
            if m.version < 1 {
                m.merge(from: "Case")
                m.transform("diagnosis") { (old: String?) in old.map { $0 + "!" } }
                m.add("summary") { row in
                    try row.value("name", as: String.self) + ": " + (row.value("diagnosis", as: String?.self) ?? "-")
                }
                m.version = 1
            }
        }
    }

    @Entity("Case") final class Filled: Migratable {
        var name = ""
        @Attribute(.encrypted) var doctor: String?

        static func migrate(_ m: inout Migration) throws {
            if m.version < 1 {
                m.add("doctor", default: "Dr. Everyone")
                m.version = 1
            }
        }
    }
}

// Written by hand, with what the macro would refuse.
enum HandWritten {
    struct Indexed: Entity {
        var _$value = ValueState()
        var secret: String?
        var id: Int? { _$value.id }
        static let entityModel = EntityModel(
            Indexed.self, table: "Indexed", id: \Indexed.id,
            properties: [
                .column(
                    "secret", \Indexed.secret, EntityCoding.encryptedCodec(String?.self),
                    options: [.encrypted, .unique])
            ])
        init() {}
        init(row: EntityRow) throws(MakoError) { secret = try EntityCoding.encryptedCodec(String?.self).read(row, 0) }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            try EntityCoding.encryptedCodec(String?.self).write(secret, &writer, 0)
        }
    }

    struct Uncoded: Entity {
        var _$value = ValueState()
        var secret: String?
        var id: Int? { _$value.id }
        static let entityModel = EntityModel(
            Uncoded.self, table: "Uncoded", id: \Uncoded.id,
            properties: [
                .column("secret", \Uncoded.secret, EntityCoding.codec(String?.self), options: [.encrypted])
            ])
        init() {}
        init(row: EntityRow) throws(MakoError) { secret = try EntityCoding.codec(String?.self).read(row, 0) }
        func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {
            try EntityCoding.codec(String?.self).write(secret, &writer, 0)
        }
    }
}
