import MakoTestSupport
import Testing

@testable import MakoCore

/// Places of keys beside a search through the list.
@Suite struct OrderedPlacesTests {
    @Test(arguments: 0..<200) func everyLookUpFindsAPlaceOfItsKey(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var places = OrderedPlaces<Int>()
        var list: [Int] = []
        var isIndexed = false
        for _ in 0..<120 {
            let key = Int.random(in: 0..<12, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0...1:
                places.append(key)
                list.append(key)
            case 2:
                #expect(places.firstPlace(of: key) == list.firstIndex(of: key))
                isIndexed = true
            case 3 where !isIndexed:
                // In the order of the list, as a traversal looks them up.
                var traversal = places
                for key in list { #expect(traversal.place(of: key).map { list[$0] } == key) }
            default:
                let place = places.place(of: key)
                #expect(place.map { list[$0] } == (list.contains(key) ? key : nil))
                if isIndexed { #expect(place == list.firstIndex(of: key)) }
            }
        }
        #expect(places.keys == list)
    }
}
