import Foundation
import MakoRecords
import Testing

@testable import MakoCore

/// 64 bytes, 512, 4 KiB, and 16 KiB.
private struct Line { var content = (0, 0, 0, 0, 0, 0, 0, 0) }
private struct Verse { var content = (Line(), Line(), Line(), Line(), Line(), Line(), Line(), Line()) }
private struct Stanza { var content = (Verse(), Verse(), Verse(), Verse(), Verse(), Verse(), Verse(), Verse()) }
private struct Page { var content = (Stanza(), Stanza(), Stanza(), Stanza()) }

/// An object of 16 KiB.
private final class Sheet: ObjectEntity, @unchecked Sendable {
    var _$state = ObjectState()

    static let entityModel = EntityModel(
        Sheet.self, table: "Sheet", id: \Sheet.id,
        properties: [.column("name", \Sheet.name, EntityCoding.codec(String.self), default: "")])

    private let page = Page()
    let name = ""
    var id: Int? { EntityCoding.rowNumber(of: self, as: Int?.self) }

    init() {}
    init(row: EntityRow) throws(MakoError) { _$state = row.state }
    func encode(into writer: inout RowWriter, properties: UInt64) throws(MakoError) {}
    func adoptValues(of object: AnyObject) {}
}

/// Objects that a fetch knows and does not keep.
@Suite struct KnownObjectTests {
    private final class Ending {
        let atEnd: (Ending) -> Void
        init(_ atEnd: @escaping (Ending) -> Void = { _ in }) { self.atEnd = atEnd }
        deinit { atEnd(self) }
    }

    @Test func anObjectIsFoundAsLongAsItIsHeld() {
        var object: Ending? = Ending()
        for known in [object.map { KnownObject($0) }, object.map { KnownObject.weak(WeakObject($0)) }] {
            #expect(known?.object === object)
            #expect(known?.hasEnded == false)
            known?.forget()
        }
        let known = object.map { KnownObject($0) }
        let weak = object.map { KnownObject.weak(WeakObject($0)) }
        object = nil
        #expect(known?.object == nil)
        #expect(known?.hasEnded == true)
        #expect(weak?.object == nil)
        known?.forget()
    }

    /// A lookup does not return an object that is being deinitialised.
    @Test func anObjectIsNotAnsweredAtItsEnd() {
        var numbered = NumberedObjects()
        var answers: [Bool] = []
        do {
            let object = Ending { _ in answers.append(numbered.object(1) == nil) }
            _ = numbered.note(1, object)
            #expect(numbered.object(1) === object)
        }
        #expect(answers == [true])
        #expect(numbered.object(1) == nil)
        numbered.forgetAll()
    }

    @Test func aKeyHasAnotherObjectOnceTheFirstHasEnded() {
        var object: Ending? = Ending()
        let other = Ending()
        var numbered = NumberedObjects()
        var keyed = KeyedObjects()
        for id in 0..<100 as Range<Int64> {
            let first = id < 50 ? object ?? other : other
            #expect(numbered.note(id, first) == nil && keyed.note(.bytes([UInt8(id)]), first) == nil)
        }
        #expect(numbered.note(7, other) === object && keyed.note(.bytes([7]), other) === object)
        #expect(numbered.object(7) === object && keyed.object(.bytes([7])) === object)
        object = nil
        #expect(numbered.note(7, other) == nil && keyed.note(.bytes([7]), other) == nil)
        #expect(numbered.object(7) === other && numbered.object(8) == nil && numbered.object(70) === other)
        #expect(keyed.object(.bytes([7])) === other && keyed.object(.bytes([8])) == nil)
        numbered.forgetAll()
        keyed.forgetAll()
    }

    /// Consecutive numbers, numbers with gaps and the extremes, in a map that grows.
    @Test func eachNumberHasItsObject() {
        let objects = (0..<7).map { _ in Ending() }
        var numbered = NumberedObjects()
        let ids = Array(1...2_000) + stride(from: 10_000, to: 90_000, by: 8) + [-1, .min + 1, .max] as [Int64]
        for (place, id) in ids.enumerated() { _ = numbered.note(id, objects[place % 7]) }
        #expect(ids.indices.allSatisfy { numbered.object(ids[$0]) === objects[$0 % 7] })
        #expect(numbered.object(0) == nil && numbered.object(2_001) == nil && numbered.object(10_001) == nil)
        numbered.forgetAll()
    }

    @Test func aFetchHasOneObjectForARow() {
        let city = City(name: "Rome")
        do {
            let context = FetchContext()
            for key in [RowKey.rowID(1), .bytes([1])] {
                #expect(context.note(city, City.entityModel, key) === city)
                #expect(context.note(City(name: "Paris"), City.entityModel, key) === city)
                #expect(context.object(City.self, key) === city)
            }
        }
        #expect(city.name == "Rome")
    }

    #if os(Linux)
        /// The memory of an object that has ended is released when another takes its key, and at the end of the fetch.
        @Test func theMemoryOfObjectsIsReleased() throws {
            let before = try residentBytes()
            for _ in 0..<64 {
                let context = FetchContext()
                for number in 0..<800 {
                    let (low, high) = (UInt8(number % 200), UInt8(number / 200 % 2))
                    for key in [RowKey.rowID(Int64(number % 400)), .bytes([low, high])] {
                        _ = context.note(Sheet(), Sheet.entityModel, key)
                    }
                }
            }
            // All objects have 1.7 GB, the last ones of all fetches half of that.
            #expect(try residentBytes() - before < 600 << 20)
        }

        private func residentBytes() throws -> Int {
            let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(words.count > 1 ? Int(words[1]) : nil) * Int(getpagesize())
        }
    #endif

    /// One object that lives on among many that do not, as when a program follows references from one object to the
    /// next.
    @Test func objectsThatHaveEndedTakeNoPlaces() {
        var numbered = NumberedObjects()
        var keyed = KeyedObjects()
        let staying = Ending()
        _ = numbered.note(0, staying)
        _ = keyed.note(.bytes([]), staying)
        for id in 1...10_000 as ClosedRange<Int64> {
            let passing = Ending()
            _ = numbered.note(id, passing)
            _ = keyed.note(.bytes([UInt8(id >> 8), UInt8(id & 255)]), passing)
        }
        #expect(numbered.places <= 16)
        #expect(keyed.count <= 17)
        #expect(numbered.object(0) === staying && numbered.object(5000) == nil)
        #expect(keyed.object(.bytes([])) === staying && keyed.object(.bytes([19, 136])) == nil)
        numbered.forgetAll()
        keyed.forgetAll()
    }
}
