import MakoRecords
import Testing

@testable import MakoCore

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
            numbered.set(1, object)
            #expect(numbered.object(1) === object)
        }
        #expect(answers == [true])
        #expect(numbered.object(1) == nil)
        numbered.forgetAll()
    }

    /// Known objects need no side table of reference counts, which would be slower, and their memory is released.
    @Test func theMemoryOfObjectsIsReleased() {
        let (object, other) = (Ending(), Ending())
        let before = _getUnownedRetainCount(object)
        var numbered = NumberedObjects()
        var keyed = KeyedObjects()
        for id in 0..<100 as Range<Int64> {
            numbered.set(id, object)
            keyed.set(.bytes([UInt8(id)]), object)
        }
        #expect(_getUnownedRetainCount(object) == before + 200)
        // Others in the places of half of them.
        for id in 0..<50 as Range<Int64> {
            numbered.set(id, other)
            keyed.set(.bytes([UInt8(id)]), other)
        }
        #expect(_getUnownedRetainCount(object) == before + 100)
        #expect(numbered.object(7) === other && numbered.object(70) === object)
        #expect(keyed.object(.bytes([7])) === other && keyed.object(.bytes([70])) === object)
        numbered.forgetAll()
        keyed.forgetAll()
        #expect(_getUnownedRetainCount(object) == before)
    }

    @Test func theEndOfAFetchReleasesItsObjects() {
        let city = City(name: "Rome")
        let before = _getUnownedRetainCount(city)
        do {
            let context = FetchContext()
            for key in [RowKey.rowID(1), .bytes([1])] {
                #expect(context.note(city, City.entityModel, key) === city)
                #expect(context.note(City(name: "Paris"), City.entityModel, key) === city)
                #expect(context.object(City.self, key) === city)
            }
            #expect(_getUnownedRetainCount(city) == before + 2)
        }
        #expect(_getUnownedRetainCount(city) == before)
        #expect(city.name == "Rome")
    }

    /// One object that lives on among many that do not, as when a program follows references from one object to the
    /// next.
    @Test func objectsThatHaveEndedTakeNoPlaces() {
        var numbered = NumberedObjects()
        var keyed = KeyedObjects()
        let staying = Ending()
        numbered.set(0, staying)
        keyed.set(.bytes([]), staying)
        for id in 1...10_000 as ClosedRange<Int64> {
            let passing = Ending()
            numbered.set(id, passing)
            keyed.set(.bytes([UInt8(id >> 8), UInt8(id & 255)]), passing)
        }
        #expect(numbered.places <= 16)
        #expect(keyed.count <= 17)
        #expect(numbered.object(0) === staying && numbered.object(5000) == nil)
        #expect(keyed.object(.bytes([])) === staying && keyed.object(.bytes([19, 136])) == nil)
        numbered.forgetAll()
        keyed.forgetAll()
    }
}
