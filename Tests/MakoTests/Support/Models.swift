import Foundation
import Mako

enum Grade: String, Sendable { case junior, senior }
enum Level: Int, StorableValue { case low = 1, high = 2 }

struct Settings: Codable, Sendable, Equatable {
    var theme = "dark"
    var volume = 7
}

@Entity final class Location {
    var name: String = ""
}

@Entity final class Department {
    var name: String = ""
    var location: Location?
    @Relationship(inverse: \Person.department)
    var people: ToMany<Person>
}

@Entity class Person {
    #Index<Person>([\.name], [\.age, \.name])
    #Unique<Person>([\.payrollNumber])
    var name: String?
    var age: Int = 36
    @Attribute(.indexed) var email = ""
    var payrollNumber: Int?
    var department: Department?
    var grade: Grade?
    var settings: Settings?
    var nicknames: Set<String> = []
    @Transient var isSelected = false

    var isAdult: Bool { age >= 18 }
}

@Entity final class Den {
    var place = ""
}

@Entity final class Label {
    @Attribute(.primaryKey) var text: String = ""
    var note = ""
    var uses: UInt16 = 0
}

@Entity struct Wolf {
    @Attribute(.primaryKey) var name: String
    var weight: Double = 0
    var den: ToOne<Den>
}

@Entity struct Reading: Equatable {
    var sensor: String
    var value: Double
    var at: Date = Date(timeIntervalSinceReferenceDate: 0)
}

// As a library would write them: public types, and conformances that the macro would add by itself.
@Entity public struct Rate: Hashable {
    @Attribute(.primaryKey) public var from: String
    @Attribute(.primaryKey) public var to: String
    public var rate: Double
}

@Entity public final class Account: CustomStringConvertible, Identifiable {
    public var owner: String = ""
    var note = ""
    public var description: String { "account of \(owner)" }
}

@Entity("all_types") final class Everything {
    var flag = false
    var int = 0
    var int8: Int8 = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var uint: UInt = 0
    var uint8: UInt8 = 0
    var uint16: UInt16 = 0
    var uint32: UInt32 = 0
    var uint64: UInt64 = 0
    var float: Float = 0
    var double = 0.0
    var text = ""
    var character: Character = "a"
    var date = Date(timeIntervalSinceReferenceDate: 0)
    var data = Data()
    var bytes: [UInt8] = []
    var url: URL?
    var uuid = UUID()
    var decimal: Decimal = 0
    var grade: Grade = .junior
    var level: Level = .low
    var optionalLevel: Level?
    var settings: Settings = Settings()
    var tags: [String] = []
    var scores: [String: Int] = [:]
    var optionalInt: Int?
    var optionalFlag: Bool?
    var optionalDate: Date?
    var optionalData: Data?
    var `group`: String = "g"
    var order: Int?

}
